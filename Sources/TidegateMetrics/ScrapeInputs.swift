package import TidegateCore

/// What the metrics collected at scrape are read from; plain values, taken at one moment.
package struct ScrapeInputs: Sendable {
    /// The moment of the scrape.
    package var now: MonotonicTime
    /// What the monitor knows.
    package var status: ReachabilityStatus
    /// The configured targets' names; only these get series, so that their number is bounded by the configuration.
    package var targetNames: [Target: String]
    /// The session's counts.
    package var session: SessionStatistics
    /// The latest diagnosis of the host; nil if none was made.
    package var diagnosis: HostDiagnosis?
    /// What the bus's subscribers hold and have dropped.
    package var subscribers: [SubscriberKind: SubscriberStatistics]
    /// The process's own figures; nil if they cannot be read.
    package var process: ProcessSample?
    /// The threads that do not turn.
    package var stalledThreads: Set<MonitorThread> = []
    /// What is counted of the connections of other programs; nil if nothing observes them.
    package var connections: ConnectionStatistics?
    /// Requests that the endpoint is answering.
    package var requestsInFlight: Int

    package init(
        now: MonotonicTime, status: ReachabilityStatus, targetNames: [Target: String] = [:],
        session: SessionStatistics = .init(), subscribers: [SubscriberKind: SubscriberStatistics] = [:],
        process: ProcessSample? = nil,
        requestsInFlight: Int = 0
    ) {
        self.now = now
        self.status = status
        self.targetNames = targetNames
        self.session = session
        self.subscribers = subscribers
        self.process = process
        self.requestsInFlight = requestsInFlight
    }
}

extension ScrapeInputs {
    /// Reads everything from a monitor; `streams` are those of an endpoint, which are not on the bus.
    package init(
        of view: any MonitorView, bus: EventBus, time: any TimeSource, targetNames: [Target: String],
        streams: SubscriberStatistics? = nil, requestsInFlight: Int = 0
    ) {
        var statistics = bus.statistics()
        if let streams { statistics[.sse]?.add(streams) }
        self.init(
            now: time.monotonic(), status: view.status, targetNames: targetNames, session: view.sessionStatistics(),
            subscribers: statistics, process: ProcessReader(time: time).sample(),
            requestsInFlight: requestsInFlight)
        self.diagnosis = view.diagnosis
        self.stalledThreads = view.stalledThreads
        self.connections = view.connectionObservation?.statistics
    }
}

extension ScrapeInputs {
    /// What is observed; nil where nothing is.
    var observed: ConnectionStatistics? {
        self.connections.flatMap { $0.mode == .off ? nil : $0 }
    }

    /// What is counted of both directions; empty where nothing is observed.
    var traffic: [(direction: ConnectionDirection, traffic: ConnectionStatistics.Traffic)] {
        guard let observed = self.observed else { return [] }
        return ConnectionDirection.allCases.map { ($0, observed.traffic[$0] ?? .init()) }
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

    package init(
        cpuSeconds: Double? = nil, openDescriptors: Int? = nil, maxDescriptors: Double? = nil,
        virtualBytes: UInt64? = nil, maxVirtualBytes: Double? = nil, residentBytes: UInt64? = nil,
        startSeconds: Double? = nil, threads: Int? = nil
    ) {
        self.cpuSeconds = cpuSeconds
        self.openDescriptors = openDescriptors
        self.maxDescriptors = maxDescriptors
        self.virtualBytes = virtualBytes
        self.maxVirtualBytes = maxVirtualBytes
        self.residentBytes = residentBytes
        self.startSeconds = startSeconds
        self.threads = threads
    }
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
