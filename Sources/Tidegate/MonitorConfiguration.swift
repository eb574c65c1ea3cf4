public import TidegateConnections
public import TidegateCore
public import TidegateReachability
public import TidegateSession

/// The configuration of a monitor; every part has defaults, and is validated when a monitor is made.
public struct MonitorConfiguration: Sendable {
    /// What the reachability monitor watches.
    public var reachability = ReachabilityConfiguration()
    /// How tasks are executed.
    public var session = SessionConfiguration()
    /// The names of targets in metrics; the default is the target's text.
    public var targetNames: [Target: String] = [:]
    /// How metrics distinguish attempts by host.
    public var hostLabel = HostLabel.off
    /// True if this host is diagnosed after every change of its paths, and every 15 s while something is wrong.
    ///
    /// A diagnosis queries the gateway and the resolvers, and the routers on the way to those that are silent. Off by
    /// default.
    public var diagnosesHost = false
    /// True if the quality of this host's way out and of its targets is watched.
    ///
    /// An echo each ten seconds goes to the gateway and to the first router beyond it, and 46 to each host at most every
    /// five minutes, if something seems slow. Metered paths are left alone. Off by default.
    public var measuresQuality = false
    /// What was usual when the quality was last watched.
    package var normals = QualityNormals()
    /// Gets what is usual, each ten minutes and when the monitor stops; must not block.
    package var keepNormals: @Sendable (QualityNormals) -> Void = { _ in }
    /// How other programs' TCP connections in this network namespace are observed.
    ///
    /// Nothing is observed unless ``ConnectionsConfiguration/isEnabled`` is set.
    public var connections = ConnectionsConfiguration(isEnabled: false)
    /// Decides about redirects, authentication and responses of every task; nil for the defaults.
    public var hooks: SessionHooks?
    /// Receives the responses, progress and completion of every task.
    public var observer: TaskObserver?
    /// Makes spans for every task and its attempts, like `DistributedTracer` in `TidegateTracing`; nil makes none.
    ///
    /// The ids of its spans appear in `traceparent`, in events and in exemplars.
    public var tracer: (any TaskTracer)?

    /// A configuration; by default it monitors this host's network and has no targets.
    public init() {}

    /// The names in metrics of all configured targets.
    var namesOfTargets: [Target: String] {
        Dictionary(self.reachability.targets.map { ($0, $0.description) }) { first, _ in first }
            .merging(self.targetNames) { _, name in name }
    }

    /// Validates all values, as is also done when a monitor is made.
    ///
    /// - Throws: ``ConfigurationValueError`` with the first property that is out of range.
    public func validate() throws(ConfigurationValueError) {
        try self.reachability.validate()
        try self.session.validate()
        try self.connections.validate()
    }
}
