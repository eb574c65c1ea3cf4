internal import ServiceLifecycle
internal import TidegateStore

/// Closes the journal after everything that writes to it has stopped.
struct JournalService: Service {
    let journal: Journal

    func run() async throws {
        try? await gracefulShutdown()
        // The session has stopped before: nothing else writes.
        self.journal.close()
    }
}
