internal import TidegateCore

/// How sending samples to a receiver fares.
struct RemoteWriteRecorder: Sendable {
    private let samples: Counter
    private let dropped: TableFamily<Label1<RemoteWriteLoss>, Counter>
    private let failures: TableFamily<Label1<TaskFailure>, Counter>
    private let pending: Gauge

    init(_ registry: Registry) {
        self.samples = registry.counter(Catalogue.remoteWriteSamples)
        self.dropped = registry.adding(
            TableFamily(Catalogue.remoteWriteDropped, from: RemoteWriteLoss.allCases.map(Label1.init)))
        self.failures = registry.adding(TableFamily(Catalogue.remoteWriteFailures))
        self.pending = registry.gauge(Catalogue.remoteWritePending)
    }

    func record(_ event: RemoteWriteEvent) {
        switch event {
        case .opened(samples: _, let pending), .kept(samples: _, let pending): self.pending.set(Double(pending))
        case .delivered(let samples, let pending, isNews: _):
            self.samples.add(samples)
            self.pending.set(Double(pending))
        case .failed(let failure, isNews: _): self.failures[Label1(failure.reason)].add()
        case .dropped(let loss, let samples, detail: _, let pending, isNews: _):
            self.dropped[Label1(loss)].add(samples)
            self.pending.set(Double(pending))
        }
    }
}
