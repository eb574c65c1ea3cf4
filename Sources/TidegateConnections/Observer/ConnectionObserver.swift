internal import Synchronization
public import TidegateCore
internal import TidegateLoop
package import TidegateNetwork

/// Observes the TCP connections of every program in a network namespace without interfering with them.
///
/// It needs no privileges. It never gates a task and never changes a level.
package final class ConnectionObserver: ConnectionObservation {
    /// The observer's dependencies.
    ///
    /// All but `route` are called on the observer's thread and must return immediately.
    package struct Environment: Sendable {
        /// Publishes an event.
        package var publish: @Sendable (ConnectionEvent) -> Void
        /// What the kernel would do with a packet to an address.
        package var route: @Sendable (IPAddress) async -> AddressRoute
        /// The configured targets with their current addresses.
        package var targets: @Sendable () -> [ObservedTarget]
        package var time: any TimeSource

        package init(
            time: any TimeSource, publish: @escaping @Sendable (ConnectionEvent) -> Void = { _ in },
            route: @escaping @Sendable (IPAddress) async -> AddressRoute = { _ in AddressRoute(verdict: .unknown) },
            targets: @escaping @Sendable () -> [ObservedTarget] = { [] }
        ) {
            self.time = time
            self.publish = publish
            self.route = route
            self.targets = targets
        }
    }

    private let thread: LoopThread<ObservationThread>
    private let kept = KeptStatistics()

    /// Starts observing; the sockets in `own` are ignored.
    ///
    /// - Throws: If the system cannot create the thread.
    package init(
        _ configuration: ConnectionsConfiguration, own: OwnSockets = OwnSockets(),
        options: NetlinkOptions = NetlinkOptions(), _ environment: Environment
    ) throws(TextError) {
        do {
            self.thread = try LoopThread(name: "tg-observe") { [kept] loop, inbox in
                ObservationThread(loop, inbox, configuration, own: own, options, environment, kept)
            }
        } catch {
            throw TextError("connections cannot be observed: \(error)")
        }
    }

    /// The current state of observed connections.
    package func report() async -> ConnectionsReport {
        await withCheckedContinuation { waiter in
            let isSent = self.thread.send { waiter.resume(returning: $0.report()) }
            if !isSent { waiter.resume(returning: ConnectionsReport()) }
        }
    }

    package var statistics: ConnectionStatistics { self.kept.statistics }

    /// Whether the observer's thread has been stuck in one turn for longer than 10 s.
    package var load: ThreadLoad { self.thread.load }

    /// Records that the host's path of a family changed, or became known (`isFirst`), in which case earlier failures
    /// are not explained by it.
    package func pathChanged(_ family: AddressFamily, isFirst: Bool) {
        self.thread.send { $0.pathChanged(family, isFirst: isFirst) }
    }

    /// Stops observing.
    package func stop() { self.thread.stop() }
}

/// A copy of the statistics for other threads.
final class KeptStatistics: Sendable {
    private let kept = Mutex(ConnectionStatistics())

    var statistics: ConnectionStatistics { self.kept.withLock { $0 } }

    func keep(_ statistics: ConnectionStatistics) { self.kept.withLock { $0 = statistics } }
}

/// Settings for observing the TCP connections of other programs.
public struct ConnectionsConfiguration: Sendable, Hashable {
    /// Whether connections are observed; if not, no socket is opened.
    public var isEnabled = true
    /// The interval between lists of opening connections; at least 100 ms.
    public var connectingInterval = Duration.seconds(1)
    /// The interval between lists of all connections; at least 1 s.
    ///
    /// It is stretched so that lists use at most 1 % of a processor.
    public var establishedInterval = Duration.seconds(5)
    /// Whether connections from this machine to itself are included.
    public var includesLoopback = false
    /// Remote networks whose connections are ignored.
    public var excludedRemotes: [IPPrefix] = []
    /// Ports, local or remote, whose connections are ignored.
    public var excludedPorts: Set<UInt16> = []
    /// The maximum number of tracked connections; further ones are counted only when they end.
    public var maxTracked = 50_000
    /// The receive buffer to request for kernel messages, in bytes; without CAP_NET_ADMIN, `net.core.rmem_max` limits
    /// it (socket(7)).
    public var receiveBufferBytes = 8 << 20

    /// Creates the default settings.
    public init(isEnabled: Bool = true) { self.isEnabled = isEnabled }

    /// Checks every value.
    ///
    /// - Throws: ``ConfigurationValueError``, which names the first property that is outside its range.
    public func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            self.connectingInterval >= .milliseconds(100), "connectingInterval", "it is less than 100 ms")
        try ConfigurationValueError.check(
            self.establishedInterval >= .seconds(1), "establishedInterval", "it is less than 1 s")
        try ConfigurationValueError.check(self.maxTracked >= 1, "maxTracked", "it is less than 1")
        try ConfigurationValueError.check(
            (4096...1 << 30).contains(self.receiveBufferBytes), "receiveBufferBytes",
            "it is not between 4 KiB and 1 GiB")
    }
}

extension ConnectionsReport {
    /// The state of the connections at `now`.
    init(_ state: ObservationState, _ mode: ObservationMode, _ reason: String?, at now: MonotonicTime) {
        let remotes = state.remotes.entries.map { remote, entry in
            var report = entry.report(of: remote, at: now)
            report.target = state.targets.name(of: remote)
            return report
        }
        let statistics = state.recorder.statistics
        self.init()
        (self.mode, self.reason) = (mode, reason)
        self.remotes = remotes.sorted(by: Self.isBefore)
        self.dropped = statistics.dropped
        self.unexplained = statistics.unexplained.values.reduce(0, +)
        self.listed = state.groups.lastList.map { now - $0 }
    }

    // Hanging remotes first, then by number of connections; ties are always in the same order.
    private static func isBefore(_ left: RemoteReport, _ right: RemoteReport) -> Bool {
        let (one, two) = ((left.stalledCount, left.connectionCount), (right.stalledCount, right.connectionCount))
        guard one == two else { return one > two }
        return "\(left.remote)" < "\(right.remote)"
    }
}

extension RemoteEntry {
    fileprivate func report(of remote: Remote, at now: MonotonicTime) -> RemoteReport {
        var report = RemoteReport(remote)
        report.connecting = self.counts[.connecting] ?? 0
        report.established = self.counts[.established] ?? 0
        report.closing = self.counts[.closing] ?? 0
        report.stalled = self.stalled
        report.party = self.isStalled ? self.party : nil
        report.nextTry = self.isStalled ? self.nextTry.map { max(.zero, $0 - now) } : nil
        report.shortestRoundTrip = self.shortestRoundTrip
        report.sentSegments = self.sentSegments
        report.retransmittedSegments = self.retransmittedSegments
        report.limitedBy = self.limitedBy(at: now)
        report.answered = self.answered.map { now - $0 }
        report.outcomes = self.outcomes.counts(at: now)
        report.failures = self.outcomes.failures(at: now)
        report.history = self.outcomes.history(at: now)
        report.owners = self.owners
        return report
    }
}
