/// What the user of a task asks for.
enum TaskCommand: Sendable {
    case resume
    case suspend
    /// Ends the task; with `keepsPartial` an unfinished download is kept for another task.
    case cancel(keepsPartial: Bool)
}

/// The session as its tasks see it.
protocol TaskController: AnyObject, Sendable {
    /// The events of the session's tasks.
    var events: SessionEvents { get }

    /// Passes a command on; false once the session is over, and then nothing happens.
    @discardableResult
    func send(_ command: TaskCommand, to task: TransferTask) -> Bool
}
