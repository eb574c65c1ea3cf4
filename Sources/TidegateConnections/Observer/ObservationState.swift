internal import TidegateCore
internal import TidegateNetwork

/// What is observed of the connections of other programs, and what follows from it; everything that has no descriptor.
struct ObservationState {
    /// The moment on both clocks.
    struct Moment {
        let monotonic: MonotonicTime
        let wall: WallTime
    }

    let configuration: ConnectionsConfiguration
    let own: OwnSockets
    var table: ConnectionTable
    var remotes = RemoteTable()
    var listeners = ListenerTable()
    var routes = RouteCache()
    var groups = GroupWatch()
    var failures = FailureAttribution()
    var ambiguous = AmbiguousEnds()
    var observed = Reconciliation.Observed()
    var recorder = StatisticsRecorder()
    var targets = TargetIndex()

    init(_ configuration: ConnectionsConfiguration, own: OwnSockets) {
        self.configuration = configuration
        self.own = own
        self.table = ConnectionTable(limit: configuration.maxTracked)
    }

    /// Whether a connection counts: not this program's own, nor one that the configuration leaves out.
    func counts(_ report: SocketReport) -> Bool {
        let remote = report.remote.address
        guard !self.own.contains(report.cookie), !self.listeners.ownPorts.contains(report.local.port),
            self.configuration.includesLoopback || !(remote.isLoopback || report.local.address.isLoopback)
        else { return false }
        let ports = self.configuration.excludedPorts
        return !ports.contains(report.local.port) && !ports.contains(report.remote.port)
            && !self.configuration.excludedRemotes.contains { $0.contains(remote) }
    }

    /// The direction of a live connection: by its sequence numbers where they say it, else by who listens.
    func direction(of report: SocketReport, at now: MonotonicTime) -> ConnectionDirection {
        switch report.state {
        case .synSent: return .outgoing
        case .synReceived, .newSynReceived: return .incoming
        case .established, .closeWait:
            // Before anything was acknowledged they say nothing.
            let count = SegmentCount(report)
            if report.tcp != nil, count.isEstablished, count.controlBytes == 1 { return .outgoing }
            if report.tcp != nil, count.isEstablished, count.controlBytes == 0 { return .incoming }
        case .finWait1, .finWait2, .timeWait, .close, .lastAck, .listen, .closing, .boundInactive: break
        }
        return self.listeners.contains(report.local, at: now) ? .incoming : .outgoing
    }

    /// The state of a live connection as its label names it.
    static func state(of report: SocketReport) -> ConnectionStatistics.State {
        switch report.state {
        case .synSent, .synReceived, .newSynReceived: .connecting
        case .established: .established
        case .finWait1, .finWait2, .timeWait, .close, .closeWait, .lastAck, .closing, .listen, .boundInactive:
            .closing
        }
    }

    /// Whether any connection hangs.
    var isAnythingStalled: Bool { self.remotes.entries.contains { $0.value.isStalled } }

    /// Whether connections began to hang of which no event has told whose failure it is.
    var hasUnreportedStalls: Bool { self.groups.hasUnreported }

    /// What the configured targets are now.
    mutating func set(_ targets: [ObservedTarget]) { self.targets = TargetIndex(targets) }

    /// The host's path of a family changed, or is known for the first time, so that nothing has to settle.
    mutating func pathChanged(_ family: AddressFamily, isFirst: Bool, at now: MonotonicTime) {
        self.routes.expire()
        if !isFirst { self.failures.pathChanged(family, at: now) }
    }
}
