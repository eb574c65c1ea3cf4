package import TidegateCore

/// The inputs of metrics that are collected at a scrape: plain values from one moment.
package struct ScrapeInputs: Sendable {
    /// The time of the scrape.
    package var now: MonotonicTime
    /// The monitor's status.
    package var status: ReachabilityStatus
    /// The configured targets' names; only these have series, so that the configuration bounds their number.
    package var targetNames: [Target: String] = [:]
    /// The session's counts.
    package var session = SessionStatistics()
    /// The latest diagnosis of the host; nil before the first one.
    package var diagnosis: HostDiagnosis?
    /// How many events the bus's subscribers hold and have dropped.
    package var subscribers: [SubscriberKind: SubscriberStatistics] = [:]
    /// The statistics of the process; nil if they cannot be read.
    package var process: ProcessSample?
    /// How busy the monitor's threads are.
    package var threads: [MonitorThread: ThreadLoad] = [:]
    /// The statistics of other programs' connections; nil without an observer.
    package var connections: ConnectionStatistics?
    /// What is counted of incidents; nil if none are recorded.
    package var incidents: IncidentTotals?
    /// Where it runs and what is wanted of its targets.
    package var deployment = Deployment()
    /// Requests that the endpoint is answering.
    package var requestsInFlight = 0

    package init(now: MonotonicTime, status: ReachabilityStatus) {
        self.now = now
        self.status = status
    }

    /// Reads everything from a monitor; `streams` are an endpoint's subscriptions, which are not on the bus.
    package init(
        of view: any MonitorView, bus: EventBus, time: any TimeSource, targetNames: [Target: String],
        streams: SubscriberStatistics? = nil, incidents: IncidentTotals? = nil,
        deployment: Deployment = Deployment(), requestsInFlight: Int = 0
    ) {
        self.init(now: time.monotonic(), status: view.status)
        self.targetNames = targetNames
        self.session = view.sessionStatistics()
        self.subscribers = bus.statistics()
        if let streams { self.subscribers[.sse]?.add(streams) }
        self.process = ProcessReader(time: time).sample()
        self.requestsInFlight = requestsInFlight
        (self.incidents, self.deployment) = (incidents, deployment)
        self.diagnosis = view.diagnosis
        self.threads = view.threads
        self.connections = view.connectionObservation?.statistics
    }

    /// The statistics of observed connections; nil if nothing is observed.
    var observed: ConnectionStatistics? {
        self.connections.flatMap { $0.mode == .off ? nil : $0 }
    }

    /// The statistics for a direction; nil if nothing is observed.
    func traffic(in direction: ConnectionDirection) -> ConnectionStatistics.Traffic? {
        self.observed.map { $0.traffic[direction] ?? .init() }
    }
}

/// The statistics of the process; values that cannot be read are nil and have no series.
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

/// What the configuration says about where Tidegate runs, and what is wanted of its targets.
package struct Deployment: Sendable, Hashable {
    package var site: String?
    package var provider: String?
    /// The wanted share of time in which a target is reached, by name: between 0 and 1.
    package var objectives: [String: Double] = [:]

    /// Nothing.
    package init() {}
}

/// The build, as shown by `tidegate_build_info` and `--version`.
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

/// What an endpoint serves: the monitor provides it, and the endpoint's initializer takes it.
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
