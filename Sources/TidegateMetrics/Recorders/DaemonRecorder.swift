internal import TidegateCore

/// Records what the daemon does.
struct DaemonRecorder: Sendable {
    private let requests: TableFamily<TextLabels, Counter>
    private let journal: JournalRecorder
    private let remoteWrite: RemoteWriteRecorder
    private let reloadSuccessful: Gauge
    private let reloadTime: Gauge

    init(_ registry: Registry, build: BuildInfo) {
        self.requests = registry.adding(TableFamily(Catalogue.httpRequests))
        registry.collect(Catalogue.httpRequestsInFlight) { $0.requestsInFlight }
        self.journal = JournalRecorder(registry)
        self.remoteWrite = RemoteWriteRecorder(registry)
        self.reloadSuccessful = registry.gauge(Catalogue.configReloadSuccessful)
        self.reloadTime = registry.gauge(Catalogue.configReloadTime)
        registry.collect(Catalogue.threadStalled, by: MonitorThread.allCases) {
            $0.stalledThreads.contains($1) ? 1 : 0
        }
        registry.collect(Catalogue.buildInfo) { _, samples in
            samples.add(build.version, build.revision, build.swiftVersion, build.architecture, value: 1)
        }
    }

    func record(_ event: DaemonEvent, at time: WallTime) {
        switch event {
        case .configurationLoaded(let isGood):
            self.reloadSuccessful.set(isGood ? 1 : 0)
            if isGood { self.reloadTime.set(time.seconds) }
        case .requestAnswered(let handler, let status): self.requests[TextLabels(handler, String(status))].add()
        case .journal(let event): self.journal.record(event)
        case .remoteWrite(let event): self.remoteWrite.record(event)
        case .runSkipped, .stopping: break
        }
    }
}
