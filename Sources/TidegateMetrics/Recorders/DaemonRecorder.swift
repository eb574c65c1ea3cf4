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
        self.reloadSuccessful = registry.adding(Catalogue.configReloadSuccessful)
        self.reloadTime = registry.adding(Catalogue.configReloadTime)
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
            self.reloadSuccessful.set(isGood ? 1.0 : 0)
            if isGood { self.reloadTime.set(time.seconds) }
        case .requestAnswered(let handler, let status): self.requests[TextLabels(handler, String(status))].add()
        case .journal(let event): self.journal.record(event)
        case .remoteWrite(let event): self.remoteWrite.record(event)
        case .runSkipped, .stopping: break
        }
    }
}

/// How the journal of accepted tasks fares.
struct JournalRecorder: Sendable {
    private let entries: Counter
    private let failures: TableFamily<JournalIssue, Counter>
    private let commits: Histogram

    init(_ registry: Registry) {
        registry.collect(Catalogue.journalTasks, by: [TaskState.Name.suspended, .waiting, .running]) {
            $0.session.journaled[$1] ?? 0
        }
        self.entries = registry.adding(Catalogue.journalEntries)
        self.failures = registry.adding(
            TableFamily(Catalogue.journalErrors, from: JournalIssue.allCases))
        self.commits = registry.adding(Catalogue.journalWriteDuration)
    }

    func record(_ event: JournalEvent) {
        switch event {
        case .opened: break
        case .committed(let count, let duration):
            self.entries.add(UInt64(count))
            self.commits.observe(duration)
        case .failed(let reason, let count): self.failures[reason].add(UInt64(count))
        }
    }
}

/// How sending samples to a receiver fares.
struct RemoteWriteRecorder: Sendable {
    private let samples: Counter
    private let dropped: TableFamily<RemoteWriteLoss, Counter>
    private let failures: TableFamily<TaskFailure, Counter>
    private let pending: Gauge

    init(_ registry: Registry) {
        self.samples = registry.adding(Catalogue.remoteWriteSamples)
        self.dropped = registry.adding(
            TableFamily(Catalogue.remoteWriteDropped, from: RemoteWriteLoss.allCases))
        self.failures = registry.adding(TableFamily(Catalogue.remoteWriteFailures))
        self.pending = registry.adding(Catalogue.remoteWritePending)
    }

    func record(_ event: RemoteWriteEvent) {
        switch event {
        case .opened(samples: _, let pending), .kept(samples: _, let pending): self.pending.set(Double(pending))
        case .delivered(let samples, let pending, isNews: _):
            self.samples.add(samples)
            self.pending.set(Double(pending))
        case .failed(let failure, isNews: _): self.failures[failure.reason].add()
        case .dropped(let loss, let samples, detail: _, let pending, isNews: _):
            self.dropped[loss].add(samples)
            self.pending.set(Double(pending))
        }
    }
}
