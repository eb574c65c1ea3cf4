public import TidegateCore
public import TidegateReachability
public import TidegateSession

/// Everything a monitor is told once.
public struct MonitorConfiguration: Sendable {
    /// What the reachability monitor watches.
    public var reachability: ReachabilityConfiguration
    /// How tasks are carried out.
    public var session: SessionConfiguration
    /// The names under which targets appear in series; a target without one appears under its own text.
    public var targetNames: [Target: String]
    /// Whether metrics tell attempts apart by the host they asked.
    public var hostLabel: HostLabel

    /// A configuration; the defaults watch this host's network and have no targets.
    public init(
        reachability: ReachabilityConfiguration = ReachabilityConfiguration(),
        session: SessionConfiguration = .standard,
        targetNames: [Target: String] = [:],
        hostLabel: HostLabel = .off
    ) {
        self.reachability = reachability
        self.session = session
        self.targetNames = targetNames
        self.hostLabel = hostLabel
    }
}
