internal import TidegateCore

/// How the journal of accepted tasks fares.
struct JournalRecorder: Sendable {
    private let entries: Counter
    private let failures: TableFamily<Label1<JournalIssue>, Counter>
    private let commits: Histogram

    init(_ registry: Registry) {
        registry.collect(Catalogue.journalTasks, by: [TaskState.Name.suspended, .waiting, .running]) {
            $0.session.journaled[$1] ?? 0
        }
        self.entries = registry.counter(Catalogue.journalEntries)
        self.failures = registry.adding(
            TableFamily(Catalogue.journalErrors, from: JournalIssue.allCases.map(Label1.init)))
        self.commits = registry.histogram(Catalogue.journalWriteDuration)
    }

    func record(_ event: JournalEvent) {
        switch event {
        case .opened: break
        case .committed(let count, let duration):
            self.entries.add(UInt64(count))
            self.commits.observe(duration)
        case .failed(let reason, let count): self.failures[Label1(reason)].add(UInt64(count))
        }
    }
}
