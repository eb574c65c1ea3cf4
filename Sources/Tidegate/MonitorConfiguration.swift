public import TidegateConnections
public import TidegateCore
public import TidegateReachability
public import TidegateSession

/// Everything a monitor can be configured with; each part has defaults, and is checked when a monitor is made with it.
public struct MonitorConfiguration: Sendable {
    /// What the reachability monitor watches.
    public var reachability = ReachabilityConfiguration()
    /// How tasks are executed.
    public var session = SessionConfiguration()
    /// The names of targets in metrics; a target without one appears as its text.
    public var targetNames: [Target: String] = [:]
    /// Whether metrics distinguish attempts by host.
    public var hostLabel = HostLabel.off
    /// Whether this host is diagnosed after every change of its paths, and every 15 s while something is bad: the gateway
    /// and the resolvers are asked, and routers on the way to those that are silent; off by default.
    public var diagnosesHost = false
    /// How the TCP connections of other programs of this network namespace are observed; they are not unless
    /// ``ConnectionsConfiguration/isEnabled`` is set.
    public var connections = ConnectionsConfiguration(isEnabled: false)
    /// Called to decide about redirects, authentication and responses of every task; nil for the defaults.
    public var hooks: SessionHooks?
    /// Called with the responses, progress and completion of every task.
    public var observer: TaskObserver?
    /// Makes spans of every task and its attempts, as `DistributedTracer` of `TidegateTracing` does; nil makes none.
    ///
    /// Its spans' ids are those of `traceparent`, of events and of exemplars.
    public var tracer: (any TaskTracer)?

    /// A configuration; the defaults watch this host's network and have no targets.
    public init() {}

    /// The name in metrics of every configured target.
    var namesOfTargets: [Target: String] {
        Dictionary(self.reachability.targets.map { ($0, $0.description) }) { first, _ in first }
            .merging(self.targetNames) { _, name in name }
    }

    /// Checks every value, as a monitor does that is made with it.
    ///
    /// - Throws: ``ConfigurationValueError``, which names the first property that is outside its range.
    public func validate() throws(ConfigurationValueError) {
        try self.reachability.validate()
        try self.session.validate()
        try self.connections.validate()
    }
}
