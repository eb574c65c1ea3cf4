/// A command of a task's user.
enum TaskCommand: Sendable {
    case resume
    case suspend
    /// End the task; with `keepsPartial`, keep an unfinished download for another task.
    case cancel(keepsPartial: Bool)
    /// Give the download's file to a reader.
    case follow(DownloadReader)
}

/// The session as its tasks see it.
protocol TaskController: AnyObject, Sendable {
    /// The events of the session's tasks.
    var events: SessionEvents { get }

    /// Sends a command; false if the session has ended, in which case nothing happens.
    @discardableResult
    func send(_ command: TaskCommand, to task: TransferTask) -> Bool
}
