internal import TidegateCore

/// Records the daemon's work: its responses, its journal of accepted tasks, and its remote write.
struct DaemonRecorder: Sendable {
    private let requests = TableFamily<TextLabels, Counter>(Catalogue.httpRequests)
    private let journalEntries = SingleFamily<Counter>(Catalogue.journalEntries)
    private let journalErrors = TableFamily<JournalIssue, Counter>(
        Catalogue.journalErrors, from: JournalIssue.allCases)
    private let journalLostTasks = SingleFamily<Counter>(Catalogue.journalLostTasks)
    private let journalCommits = SingleFamily<Histogram>(Catalogue.journalWriteDuration)
    private let sentSamples = SingleFamily<Counter>(Catalogue.remoteWriteSamples)
    private let droppedSamples = TableFamily<RemoteWriteLoss, Counter>(
        Catalogue.remoteWriteDropped, from: RemoteWriteLoss.allCases)
    private let failedWrites = TableFamily<TaskFailure, Counter>(Catalogue.remoteWriteFailures)
    private let pendingBytes = SingleFamily<Gauge>(Catalogue.remoteWritePending)
    private let incidentCommands = TableFamily<TextLabels, Counter>(
        Catalogue.incidentCommands, from: [TextLabels("ok"), TextLabels("failed")])
    private let reloadSuccessful = SingleFamily<Gauge>(Catalogue.configReloadSuccessful)
    private let reloadTime = SingleFamily<Gauge>(Catalogue.configReloadTime)

    init(_ registry: Registry, build: BuildInfo) {
        registry.add(self.requests)
        registry.collect(Catalogue.httpRequestsInFlight) { $0.requestsInFlight }
        registry.collect(Catalogue.journalTasks, by: [TaskState.Name.suspended, .waiting, .running]) {
            $0.session.journaled[$1] ?? 0
        }
        registry.add(
            self.journalEntries, self.journalErrors, self.journalLostTasks, self.journalCommits, self.sentSamples,
            self.droppedSamples, self.incidentCommands,
            self.failedWrites, self.pendingBytes, self.reloadSuccessful, self.reloadTime)
        registry.collect(Catalogue.threadStalled, by: MonitorThread.allCases) {
            $0.threads[$1]?.isStalled == true ? 1 : 0
        }
        registry.collect(Catalogue.threadBusy) { inputs, samples in
            for (thread, load) in inputs.threads { samples.add(thread.label, value: load.busy.inSeconds) }
        }
        registry.collect(Catalogue.threadLongestTurn) { inputs, samples in
            for (thread, load) in inputs.threads { samples.add(thread.label, value: load.longest.inSeconds) }
        }
        registry.collect(Catalogue.threadQueueLength, by: MonitorThread.allCases) { $0.threads[$1]?.waiting }
        registry.collect(Catalogue.buildInfo) { _, samples in
            samples.add(build.version, build.revision, build.swiftVersion, build.architecture, value: 1)
        }
    }

    func record(_ event: DaemonEvent, at time: WallTime) {
        switch event {
        case .configurationLoaded(let isGood):
            self.reloadSuccessful.series.set(isGood ? 1.0 : 0)
            if isGood { self.reloadTime.series.set(time.seconds) }
        case .requestAnswered(let handler, let status): self.requests[TextLabels(handler, String(status))].add()
        case .journal(.committed(let count, let duration)):
            self.journalEntries.series.add(UInt64(count))
            self.journalCommits.series.observe(duration)
        case .journal(.failed(let reason, let count)): self.journalErrors[reason].add(UInt64(count))
        case .journal(.lost(_, let tasks)): self.journalLostTasks.series.add(UInt64(tasks))
        case .remoteWrite(let event): self.record(event)
        case .incidentCommand(let failure): self.incidentCommands[TextLabels(failure == nil ? "ok" : "failed")].add()
        case .journal(.opened), .runSkipped, .stopping: break
        }
    }

    private func record(_ event: RemoteWriteEvent) {
        switch event {
        case .opened(samples: _, let pending), .kept(samples: _, let pending):
            self.pendingBytes.series.set(Double(pending))
        case .delivered(let samples, let pending, isNews: _):
            self.sentSamples.series.add(samples)
            self.pendingBytes.series.set(Double(pending))
        case .failed(let failure, isNews: _): self.failedWrites[failure.reason].add()
        case .dropped(let loss, let samples, detail: _, let pending, isNews: _):
            self.droppedSamples[loss].add(samples)
            self.pendingBytes.series.set(Double(pending))
        }
    }
}
