package import TidegateCore

/// What the metrics collected at scrape are read from; plain values, taken at one moment.
package struct ScrapeInputs: Sendable {
    /// The moment of the scrape.
    package var now: MonotonicTime
    /// What the monitor knows.
    package var status: ReachabilityStatus
    /// The configured targets' names; only these get series, so that their number is bounded by the configuration.
    package var targetNames: [Target: String] = [:]
    /// The session's counts.
    package var session = SessionStatistics()
    /// The latest diagnosis of the host; nil if none was made.
    package var diagnosis: HostDiagnosis?
    /// What the bus's subscribers hold and have dropped.
    package var subscribers: [SubscriberKind: SubscriberStatistics] = [:]
    /// The process's own figures; nil if they cannot be read.
    package var process: ProcessSample?
    /// The threads that do not turn.
    package var stalledThreads: Set<MonitorThread> = []
    /// What is counted of the connections of other programs; nil if nothing observes them.
    package var connections: ConnectionStatistics?
    /// Requests that the endpoint is answering.
    package var requestsInFlight = 0

    package init(now: MonotonicTime, status: ReachabilityStatus) {
        self.now = now
        self.status = status
    }

    /// Reads everything from a monitor; `streams` are those of an endpoint, which are not on the bus.
    package init(
        of view: any MonitorView, bus: EventBus, time: any TimeSource, targetNames: [Target: String],
        streams: SubscriberStatistics? = nil, requestsInFlight: Int = 0
    ) {
        self.init(now: time.monotonic(), status: view.status)
        self.targetNames = targetNames
        self.session = view.sessionStatistics()
        self.subscribers = bus.statistics()
        if let streams { self.subscribers[.sse]?.add(streams) }
        self.process = ProcessReader(time: time).sample()
        self.requestsInFlight = requestsInFlight
        self.diagnosis = view.diagnosis
        self.stalledThreads = view.stalledThreads
        self.connections = view.connectionObservation?.statistics
    }

    /// What is observed; nil where nothing is.
    var observed: ConnectionStatistics? {
        self.connections.flatMap { $0.mode == .off ? nil : $0 }
    }

    /// What is counted of a direction; nil where nothing is observed.
    func traffic(in direction: ConnectionDirection) -> ConnectionStatistics.Traffic? {
        self.observed.map { $0.traffic[direction] ?? .init() }
    }
}

/// The process's own figures; what could not be read is nil and gets no series.
package struct ProcessSample: Sendable, Hashable {
    package var cpuSeconds: Double?
    package var openDescriptors: Int?
    package var maxDescriptors: Double?
    package var virtualBytes: UInt64?
    package var maxVirtualBytes: Double?
    package var residentBytes: UInt64?
    package var startSeconds: Double?
    package var threads: Int?
}

/// The build, as `tidegate_build_info` and `--version` show it.
package struct BuildInfo: Sendable, Hashable {
    package var version: String
    package var revision: String
    package var swiftVersion: String
    package var architecture: String

    package init(version: String, revision: String, swiftVersion: String, architecture: String) {
        self.version = version
        self.revision = revision
        self.swiftVersion = swiftVersion
        self.architecture = architecture
    }
}

/// What an endpoint serves of a monitor; obtained from the monitor, and passed to an endpoint.
public struct EndpointDependencies: Sendable {
    package let view: any MonitorView
    package let bus: EventBus
    package let recorder: MetricsRecorder
    package let time: any TimeSource
    package let targetNames: [Target: String]
    package let version: String

    package init(
        view: any MonitorView, bus: EventBus, recorder: MetricsRecorder, time: any TimeSource,
        targetNames: [Target: String], version: String
    ) {
        self.view = view
        self.bus = bus
        self.recorder = recorder
        self.time = time
        self.targetNames = targetNames
        self.version = version
    }
}
