public import CoreMetrics
public import FoundationEssentials
internal import Synchronization
package import TidegateConnections
public import TidegateCore
public import TidegateMetrics
internal import TidegateNetwork
public import TidegateReachability
public import TidegateSession
internal import TidegateTransfer

/// Monitors this host's network, and makes requests that wait for a path instead of failing without one.
///
/// ```swift
/// let monitor = try Monitor()
/// print(monitor.status.level)
/// for await path in try monitor.paths(to: "api.example.com:443") { print(path.verdict.level) }
/// let (data, response) = try await monitor.session.data(for: "https://api.example.com/status")
/// ```
/// Several monitors can run side by side; each has its own threads and its own bus. Stop a monitor with ``stop()``. If
/// it is released without that, it cancels its tasks.
public final class Monitor: Sendable {
    /// The configuration of the monitor.
    public let configuration: MonitorConfiguration
    /// Carries every event of this monitor.
    package let bus: EventBus
    /// Makes requests, which are held while there is no path.
    public let session: Session
    /// Watches links, addresses, routes and targets.
    package let reachability: ReachabilityMonitor
    /// Checks the ladder on demand.
    package let diagnostics: PathDiagnostics
    /// Records every event of the bus.
    package let recorder: MetricsRecorder
    let time: any TimeSource
    private let web: TransferHTTPChecker
    /// Resolves names for tasks and probes.
    let resolver: any NameResolver
    /// Observes other programs' connections; nil if the configuration does not ask for it.
    package let observer: ConnectionObserver?
    /// This monitor's sockets; its own observer and those of other processes ignore them.
    package let own: OwnSockets
    private let hasFirstStatus = Atomic<Bool>(false)

    /// Starts watching; the first verdict follows within milliseconds.
    ///
    /// Without access to netlink, the level is `unknown` and gates are open. To receive the very first event, subscribe
    /// to a bus and pass it in; only the monitor may publish on it. With a `journal`, tasks can be submitted that
    /// survive their process.
    /// - Throws: ``ConfigurationValueError`` with the property that is out of range, or ``TaskError`` with the reason
    /// `internal` if the thread for transfers cannot be started.
    public convenience init(
        _ configuration: MonitorConfiguration = MonitorConfiguration(), bus: EventBus? = nil,
        journal: TaskJournal? = nil,
        time: any TimeSource = SystemClock()
    ) throws {
        try self.init(configuration, bus: bus, journal: journal, time: time, onThreadStart: {})
    }

    /// A monitor whose threads run `onThreadStart` first, so that it can monitor a test's namespace.
    ///
    /// Transfers stay in this process's own namespace.
    package init(
        _ configuration: MonitorConfiguration, bus: EventBus? = nil, journal: TaskJournal? = nil,
        time: any TimeSource = SystemClock(), onThreadStart: @escaping @Sendable () -> Void
    ) throws {
        try configuration.validate()
        let bus = bus ?? EventBus(time: time)
        let recorder = MetricsRecorder(
            build: BuildInfo.current, start: time.monotonic(), wall: time.wall(), hostLabel: configuration.hostLabel,
            targetNames: configuration.namesOfTargets, settlesParties: configuration.diagnosesHost)
        // Attached first, so that the counters match the number of events.
        bus.attach(recorder)
        let own = Self.ownSockets()
        let resolver = Resolver(time: time, ttlLookup: TTLLookup(client: DNSClient(time: time, own: own), time: time))
        // Shared by both, because it has a thread, which starts with the first check.
        let web = TransferHTTPChecker(
            caFile: configuration.session.tls.caFile, own: own, onThreadStart: onThreadStart)
        let reachability = ReachabilityMonitor(configuration.reachability, bus: bus, time: time)
        (self.configuration, self.bus, self.time, self.recorder) = (configuration, bus, time, recorder)
        self.web = web
        self.resolver = resolver
        self.own = own
        let observer =
            configuration.connections.isEnabled
            ? try ConnectionObserver(
                configuration, bus: bus, reachability: reachability, own: own, time: time,
                kernel: NetlinkOptions(onThreadStart: onThreadStart)) : nil
        self.observer = observer
        self.diagnostics = PathDiagnostics(
            monitor: reachability, resolver: resolver, web: web,
            internetCheck: configuration.reachability.internetCheck,
            publicDiagnosis: configuration.reachability.publicDiagnosis, time: time,
            dependencies: PathDiagnostics.Dependencies(
                time: time, onThreadStart: onThreadStart, connections: observer, own: own))
        bus.attach(EvidenceObserver(record: reachability.recorder.record))
        self.reachability = reachability.running(
            NetlinkThread(
                reachability, resolver: resolver, kernel: NetlinkOptions(onThreadStart: onThreadStart), web: web,
                targetChecker: HTTPTargetChecker(web: web, diagnostics: self.diagnostics),
                diagnoser: self.diagnostics, diagnosesHost: configuration.diagnosesHost,
                quality: Self.quality(configuration, recorder)))
        self.session = try Session(
            configuration.session, bus: bus, paths: reachability, resolver: resolver, time: time,
            generator: SystemRandomNumberGenerator(), journal: journal, hooks: configuration.hooks,
            observer: configuration.observer, tracer: configuration.tracer, own: observer == nil ? nil : own,
            diagnosis: { reachability.evidence($0) })
    }

    private static func quality(
        _ configuration: MonitorConfiguration, _ recorder: MetricsRecorder
    ) -> QualityRecord? {
        guard configuration.measuresQuality else { return nil }
        return QualityRecord(
            normals: configuration.normals, record: { recorder.record(roundTrip: $1, to: $0) },
            keep: configuration.keepNormals)
    }

    /// Ends every task, then the monitoring; keeps partial files that a later run can continue.
    public func stop() async {
        await self.session.invalidate(cancellingTasks: true)
        self.observer?.stop()
        self.reachability.stop()
    }

    // MARK: - Queries about the network

    /// The path to a target: its current state, then every change.
    ///
    /// The target is monitored while the loop runs. If changes arrive faster than they are read, only the newest is
    /// kept. Ends when its Swift task is cancelled.
    public func paths(to target: Target) -> PathUpdates { self.reachability.paths(to: target) }

    /// Like ``paths(to:)-(Target)``, for `HOST`, `HOST:PORT`, `ADDRESS` or `[IPV6]:PORT`.
    ///
    /// - Throws: ``TargetError``, which quotes the invalid part.
    public func paths(to text: String) throws(TargetError) -> PathUpdates { self.paths(to: try Target(text)) }

    /// Waits until all conditions hold, without interruption for `stable`.
    ///
    /// Conditions that do not follow from the kernel's state (`gateway`, `dns`, `internet`, and hosts with a check) are
    /// checked when paths change, and otherwise at intervals of 1 to 10 seconds.
    /// - Parameter timeout: The time limit; nil waits forever.
    /// - Throws: ``WaitError`` after `timeout`, with the first unmet condition and the rung on which it fails, or when
    /// the Swift task is cancelled. It is not a ``TaskError``, because no request has failed.
    public func wait(
        for conditions: WaitCondition..., stable: Duration = .zero, timeout: Duration? = nil
    ) async throws(WaitError) {
        try await self.diagnostics.wait(for: WaitConfiguration(conditions, stable: stable, timeout: timeout))
    }

    /// Finds where the path to a host, a port or a URL fails, rung by rung, as `tidegate explain` shows it.
    ///
    /// Sends a few packets: a byte to the gateway, a query to each resolver, and one request to the target. Whatever is
    /// unknown after `timeout` stays unknown.
    package func diagnose(_ target: ExplainTarget, timeout: Duration = .seconds(10)) async -> Explanation {
        await self.diagnostics.diagnose(target, within: timeout)
    }

    /// Finds where the path to a host, a host with a port, or an http or https URL fails, rung by rung.
    ///
    /// `tidegate explain` shows the same result. Sends a few packets: a byte to the gateway, a query to each resolver,
    /// and one request to the target. Whatever is unknown after `timeout` stays unknown.
    ///
    /// - Throws: ``TargetError``, which quotes the invalid part.
    public func diagnose(
        _ text: String, timeout: Duration = .seconds(10)
    ) async throws(TargetError) -> Explanation {
        await self.diagnose(try ExplainTarget(text), timeout: timeout)
    }

    /// Like ``diagnose(_:timeout:)-(String,_)``, for an http or https URL.
    public func diagnose(_ url: URL, timeout: Duration = .seconds(10)) async throws(TargetError) -> Explanation {
        try await self.diagnose(url.absoluteString, timeout: timeout)
    }

    /// Every event of this monitor from now on, for one reader.
    ///
    /// The newest `capacity` events are kept for a slow reader, and ``Subscription/dropped`` counts the others. Ends
    /// when its Swift task is cancelled.
    public func events(bufferingNewest capacity: Int = 256) -> Subscription {
        self.bus.subscribe(.library, bufferingNewest: capacity)
    }

    /// The TCP connections of other programs on this host.
    public var connections: ObservedConnections { ObservedConnections(observer: self.observer, bus: self.bus) }

    /// The dependencies of a `TidegateServer` endpoint that serves this monitor.
    public var endpointDependencies: EndpointDependencies {
        EndpointDependencies(
            view: self, bus: self.bus, recorder: self.recorder, time: self.time,
            targetNames: self.configuration.namesOfTargets, version: TidegateVersion.version)
    }

    /// The metrics of this monitor and of the program.
    public var metrics: MonitorMetrics { MonitorMetrics(monitor: self) }

    // MARK: - Parts of a monitor, for checks without a monitor

    /// A monitor's HTTP checker, for checks without a monitor.
    ///
    /// Its thread starts with the first check and ends with the checker. `caFile` is a PEM file of authorities that
    /// replaces the system's. Its connections are registered in `own`.
    package static func httpChecker(trusting caFile: String? = nil, own: OwnSockets? = nil) -> any HTTPChecker {
        TransferHTTPChecker(caFile: caFile, own: own)
    }

    /// The sockets of a program, announced to the observers of other processes.
    package static func ownSockets() -> OwnSockets {
        let announcer = SocketAnnouncer()
        return OwnSockets { announcer.announce($0, except: $1) }
    }

    /// An observer of other programs' connections that uses a reachability monitor's paths.
    ///
    /// For diagnoses without a monitor; nil if no thread can be started.
    package static func connectionObservation(
        of reachability: ReachabilityMonitor, bus: EventBus, own: OwnSockets, time: any TimeSource
    ) -> (any ConnectionObservation)? {
        try? ConnectionObserver(
            MonitorConfiguration(), bus: bus, reachability: reachability, own: own, time: time, kernel: NetlinkOptions()
        )
    }

    /// A monitor's resolver, for checks without a monitor.
    package static func systemResolver(time: any TimeSource = SystemClock()) -> any NameResolver {
        Resolver(time: time)
    }
}

extension Monitor: MonitorView {
    /// The current state of the network.
    public var status: ReachabilityStatus { self.reachability.status }

    /// Unfinished and recently finished tasks, oldest first.
    package func tasks() -> [TaskInfo] { self.session.tasks() }

    /// At most `limit` of these tasks that follow the task `after`, in the order of their ids.
    package func tasks(after: TaskID?, atMost limit: Int) -> TaskSlice<TaskInfo> {
        TaskSlice(of: self.session.allTasks, after: after, atMost: limit, id: \.id, make: \.info)
    }

    /// The most relevant of these tasks.
    package func taskSample(atMost limit: Int) -> TaskSample {
        TaskSample(of: self.session.allTasks, atMost: limit, isNamed: \.isNamed, state: \.state, info: \.info)
    }

    /// One task; nil if the id is not known.
    package func task(_ id: TaskID) -> TaskInfo? { self.session.task(withID: id)?.info }

    /// The latest diagnosis of this host; nil unless the configuration asks for diagnoses.
    package var diagnosis: HostDiagnosis? { self.reachability.diagnosis }

    /// Diagnoses this host now; the result counts as evidence for failures in the next 30 s.
    package func diagnoseHost() async { await self.reachability.diagnose() }

    /// What slows single connections of any program, by the remote's address; watches them for some seconds.
    package func slowConnections() async -> [IPAddress: SlowCause] { await self.diagnostics.slowConnections() }

    /// Repeats the diagnosis of this host, unless the last one is less than 15 s old.
    package func pageViewed() { self.reachability.viewed() }

    /// The current counts of tasks and connections.
    package func sessionStatistics() -> SessionStatistics { self.session.statistics() }

    /// How busy the threads are that have started.
    package var threads: [MonitorThread: ThreadLoad] {
        let loads: [MonitorThread: ThreadLoad?] = [
            .transfer: self.session.load, .check: self.web.load, .netlink: self.reachability.load,
            .observe: self.observer?.load,
        ]
        return loads.compactMapValues(\.self)
    }

    /// The observer of other programs' connections; nil if the configuration does not ask for it.
    package var connectionObservation: (any ConnectionObservation)? { self.observer }

    /// True after the first verdict, which may be `unknown`.
    public var isReady: Bool { self.reachability.isReady }

    /// Waits for the first verdicts on this host and on every configured target, including name resolution.
    ///
    /// Returns after at most `limit`, or immediately if an earlier wait has ended.
    package func waitForFirstStatus(within limit: Duration = .seconds(5)) async {
        guard !self.hasFirstStatus.load(ordering: .acquiring) else { return }
        _ = await self.reachability.firstStatus(within: limit)
        if !Task.isCancelled { self.hasFirstStatus.store(true, ordering: .releasing) }
    }
}

/// The metrics of one ``Monitor``.
public struct MonitorMetrics: Sendable {
    let monitor: Monitor

    /// The exposition that `/metrics` would serve now.
    ///
    /// Includes the statistics of the process, but only the configured targets.
    public func exposition(for format: ExpositionFormat = .openMetrics) -> String {
        String(decoding: self.encodedExposition(for: format), as: UTF8.self)
    }

    /// Like ``exposition(for:)``, but as bytes, which the protobuf format needs.
    public func encodedExposition(for format: ExpositionFormat) -> [UInt8] {
        let monitor = self.monitor
        let inputs = ScrapeInputs(
            of: monitor, bus: monitor.bus, time: monitor.time, targetNames: monitor.configuration.namesOfTargets)
        return monitor.recorder.exposition(of: inputs, in: format)
    }

    /// A factory for swift-metrics, which adds the program's own metrics to the same exposition.
    ///
    /// It never traps. A metric that clashes with another in name or kind gets a handler that does nothing.
    /// `onConflict` is called once for each such name, with a sentence without a full stop.
    public func factory(onConflict: @escaping @Sendable (String) -> Void = { _ in }) -> any MetricsFactory {
        self.monitor.recorder.adapter(onConflict: onConflict)
    }
}
