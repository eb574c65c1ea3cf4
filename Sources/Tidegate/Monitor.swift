public import TidegateCore
package import TidegateMetrics
public import TidegateReachability
internal import TidegateNetwork
public import TidegateSession
internal import TidegateTransfer

/// One of each, wired together: what watches the network, what makes requests, and the bus that tells of both.
///
/// Several monitors live side by side; each has its own threads and its own bus.
public final class Monitor: Sendable {
    /// Carries every event of this monitor.
    public let bus: EventBus
    /// Watches links, addresses, routes and targets.
    public let reachability: ReachabilityMonitor
    /// Climbs the ladder on demand: explains a target, or tests one rung.
    public let ladder: PathDiagnostics
    /// Makes requests, held while there is no path.
    public let session: Session
    /// Has recorded every event of the bus since its start.
    package let recorder: MetricsRecorder

    /// Starts watching; the first verdict follows within milliseconds.
    ///
    /// A host that does not let netlink be opened makes the level `unknown` and leaves gates open. Whoever must hear
    /// the very first event subscribes to a bus and passes it in; nobody else may publish on it.
    /// - Throws: ``TaskError`` where the machine gives no thread for transfers.
    public init(
        _ configuration: MonitorConfiguration = MonitorConfiguration(), bus: EventBus? = nil,
        journal: (any TaskJournal)? = nil,
        time: any TimeSource = SystemClock()
    ) throws(TaskError) {
        let bus = bus ?? EventBus(time: time)
        let recorder = MetricsRecorder(
            build: BuildInfo.current, start: time.monotonic(), wall: time.wall(), hostLabel: configuration.hostLabel)
        // Attached first: the counters have to equal the number of events.
        bus.attach(MetricsSink(recorder: recorder))
        let resolver = Resolver(time: time, ttlLookup: TTLLookup(client: DNSClient(time: time), time: time))
        // One for both, because it keeps a thread; that starts with the first question.
        let web = TransferHTTPChecker()
        let reachability = ReachabilityMonitor(
            configuration.reachability, bus: bus, resolver: resolver, time: time, web: web)
        self.bus = bus
        self.recorder = recorder
        self.reachability = reachability
        self.ladder = PathDiagnostics(
            monitor: reachability, resolver: resolver, web: web,
            internetCheck: configuration.reachability.internetCheck, time: time)
        self.session = try Session(
            configuration.session, bus: bus, paths: reachability, resolver: resolver, time: time,
            generator: SystemRandomNumberGenerator(), journal: journal)
    }

    /// Ends every task, then the watching; temporary files that a later run can continue are kept.
    public func stop() async {
        await self.session.invalidate(cancellingTasks: true)
        self.reachability.stop()
    }

    /// The HTTP checker that monitors use, for checks without a monitor.
    ///
    /// Its thread starts with the first check and ends with the checker. `caFile` is a PEM file of authorities that
    /// replaces the system's.
    package static func httpChecker(trusting caFile: String? = nil) -> any HTTPChecker {
        TransferHTTPChecker(caFile: caFile)
    }

    /// The resolver that monitors use, for looks without a monitor.
    public static func systemResolver(time: any TimeSource = SystemClock()) -> any NameResolver {
        Resolver(time: time)
    }
}

extension Monitor: MonitorView {
    /// Everything known about the network now.
    public func status() -> ReachabilityStatus { self.reachability.status }

    /// The tasks that are not over, and those that ended lately; oldest first.
    public func tasks() -> [TaskInfo] { self.session.tasks() }

    /// One task; nil where the id is not known.
    public func task(_ id: TaskID) -> TaskInfo? { self.session.task(id) }

    /// Counts of tasks and connections now.
    public func sessionStatistics() -> SessionStatistics { self.session.statistics() }

    /// True once there is a first verdict; `unknown` is a verdict.
    public var isReady: Bool { self.reachability.isReady }
}

/// Passes every event on to the metrics.
private struct MetricsSink: EventSink {
    let recorder: MetricsRecorder

    func receive(_ event: Event) { self.recorder.record(event) }
}
