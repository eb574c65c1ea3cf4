public import TidegateCore

/// The handler that is called when a task is over, and on which thread or executor.
///
/// Wherever it is: the handler has returned before the task's `completed` event and before
/// ``TransferTask/result()`` returns.
public struct TaskCompletion: Sendable {
    enum Place: Sendable {
        case thread(@Sendable (TransferTask, TaskResult) -> Void)
        case elsewhere((any TaskExecutor)?, @Sendable (TransferTask, TaskResult) async -> Void)
    }

    let place: Place

    /// On the session's thread, which costs no change of threads; must not block.
    public static func onSessionThread(
        _ handler: @escaping @Sendable (TransferTask, TaskResult) -> Void
    ) -> TaskCompletion {
        TaskCompletion(place: .thread(handler))
    }

    /// On an executor of the caller's, or the shared one; may take its time.
    public static func on(
        _ executor: (any TaskExecutor)? = nil,
        _ handler: @escaping @Sendable (TransferTask, TaskResult) async -> Void
    ) -> TaskCompletion {
        TaskCompletion(place: .elsewhere(executor, handler))
    }

    /// On an actor: `handler` runs isolated to it.
    public static func on<Home: Actor>(
        _ home: Home, _ handler: @escaping @Sendable (isolated Home, TransferTask, TaskResult) -> Void
    ) -> TaskCompletion {
        TaskCompletion(place: .elsewhere(nil) { task, result in await handler(home, task, result) })
    }
}
