internal import Synchronization

/// How many tasks may be open at a time.
final class OpenTaskLimit: Sendable {
    let maximum: Int
    private let openTasks: @Sendable () -> Int
    // Submissions that the journal may not have counted yet.
    private let pending = Mutex(0)

    /// A limit; `openTasks` counts the tasks in the journal that are not over.
    init(_ maximum: Int, openTasks: @escaping @Sendable () -> Int) {
        self.maximum = maximum
        self.openTasks = openTasks
    }

    /// True if there is room for one more; ``release()`` follows when the journal has taken or refused it.
    func reserve() -> Bool {
        self.pending.withLock { pending in
            guard self.openTasks() + pending < self.maximum else { return false }
            pending += 1
            return true
        }
    }

    func release() { self.pending.withLock { $0 -= 1 } }
}
