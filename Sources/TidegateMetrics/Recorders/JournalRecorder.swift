internal import TidegateModel

/// How the journal of accepted tasks fares.
struct JournalRecorder: Sendable {
    private let entries: Counter
    private let failures: TableFamily<One<JournalTrouble>, Counter>
    private let commits: Histogram

    init(_ registry: Registry) {
        self.entries = registry.counter(Catalogue.journalEntries)
        self.failures = registry.adding(TableFamily(Catalogue.journalFailures))
        self.commits = registry.histogram(Catalogue.journalCommitDuration)
    }

    func record(_ event: JournalEvent) {
        switch event {
        case .opened: break
        case .committed(let count, let duration):
            self.entries.add(UInt64(count))
            self.commits.observe(duration)
        case .failed(let reason, let count): self.failures[One(reason)].add(UInt64(count))
        }
    }
}
