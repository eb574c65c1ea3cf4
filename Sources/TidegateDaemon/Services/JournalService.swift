internal import ServiceLifecycle
internal import Tidegate
internal import TidegateStore
internal import TidegateCore

/// Closes the journal after everything that writes to it has stopped, and journals verdict changes until then.
struct JournalService: Service {
    let journal: Journal
    private let events: Subscription

    init(journal: Journal, bus: EventBus) {
        self.journal = journal
        self.events = bus.subscribe(.library, bufferingNewest: 1024) { event in
            switch event.payload {
            case .path: true
            case .targetCheck, .link, .netlink, .task, .session, .daemon: false
            }
        }
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            for await event in self.events {
                self.journal.recordPathEvent(event)
            }
        } onGracefulShutdown: {
            self.events.cancel()
        }
        // The session has stopped before: nothing else writes.
        self.journal.close()
    }
}
