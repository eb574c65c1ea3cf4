/// A command of a task's user.
enum TaskCommand: Sendable {
    case resume
    case suspend
    /// Ends the task; with `keepsPartial` an unfinished download is kept for another task.
    case cancel(keepsPartial: Bool)
}

/// The session from the view of its tasks.
protocol TaskController: AnyObject, Sendable {
    /// The events of the session's tasks.
    var events: SessionEvents { get }

    /// Passes a command on; false without effect once the session is over.
    @discardableResult
    func send(_ command: TaskCommand, to task: TransferTask) -> Bool
}
