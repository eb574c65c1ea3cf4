internal import Synchronization
public import TidegateCore
internal import TidegateLoop
package import TidegateNetwork

/// Observes the TCP connections of every program of a network namespace, without touching one of them.
///
/// It needs no privilege. It never gates a task and never changes a level.
package final class ConnectionObserver: ConnectionObservation {
    /// What an observer asks, and whom it tells; all but `route` is called on the observer's thread and must return at
    /// once.
    package struct Environment: Sendable {
        /// Told of everything worth an event.
        package var publish: @Sendable (ConnectionEvent) -> Void
        /// What the kernel would do with a packet to an address.
        package var route: @Sendable (IPAddress) async -> AddressRoute
        /// The configured targets with the addresses that they have now.
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

    /// Starts observing; the sockets in `own` are left out.
    ///
    /// - Throws: If the system gives no thread.
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

    /// What is known now.
    package func report() async -> ConnectionsReport {
        await withCheckedContinuation { waiter in
            let isSent = self.thread.send { waiter.resume(returning: $0.report()) }
            if !isSent { waiter.resume(returning: ConnectionsReport()) }
        }
    }

    package var statistics: ConnectionStatistics { self.kept.statistics }

    /// Whether its thread has been in one turn for longer than 10 s.
    package var isStalled: Bool { self.thread.turns.isStalled }

    /// The host's path of a family changed, or is known for the first time: then what failed before failed on its own.
    package func pathChanged(_ family: AddressFamily, isFirst: Bool) {
        self.thread.send { $0.pathChanged(family, isFirst: isFirst) }
    }

    /// Ends observing.
    package func stop() { self.thread.stop() }
}

/// The statistics as the thread left them last, for other threads.
final class KeptStatistics: Sendable {
    private let kept = Mutex(ConnectionStatistics())

    var statistics: ConnectionStatistics { self.kept.withLock { $0 } }

    func keep(_ statistics: ConnectionStatistics) { self.kept.withLock { $0 = statistics } }
}

/// How the TCP connections of other programs are observed.
public struct ConnectionsConfiguration: Sendable, Hashable {
    /// Whether they are observed at all; if not, not even a socket is opened.
    public var isEnabled = true
    /// From one list of the connections that are being opened to the next; 100 ms at least.
    public var connectingInterval = Duration.seconds(1)
    /// From one list of all connections to the next; 1 s at least.
    ///
    /// It is stretched so that lists take at most 1 % of a processor.
    public var establishedInterval = Duration.seconds(5)
    /// Whether connections of this machine to itself count.
    public var includesLoopback = false
    /// Networks whose connections do not count.
    public var excludedRemotes: [IPPrefix] = []
    /// Ports, of this host or of the remote, whose connections do not count.
    public var excludedPorts: Set<UInt16> = []
    /// How many connections are kept in mind; those beyond are counted at their end only.
    public var maxTracked = 50_000
    /// The receive buffer to request for messages of the kernel, in bytes; without CAP_NET_ADMIN it is limited by
    /// `net.core.rmem_max` (socket(7)).
    public var receiveBufferBytes = 8 << 20

    /// The defaults.
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
    /// What is known of the connections now.
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

    // Those that hang first, then those with the most connections; alike ones always in the same order.
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
        report.answered = self.answered.map { now - $0 }
        report.outcomes = self.outcomes.counts(at: now)
        report.failures = self.outcomes.failures(at: now)
        report.history = self.outcomes.history(at: now)
        report.owners = self.owners
        return report
    }
}
