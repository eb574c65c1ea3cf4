internal import TidegateCore
internal import TidegateTransfer

/// What the session's thread is asked for, and what other threads report to it.
enum SessionCommand: Sendable {
    /// The user of a task asks for something; for a task that was only made this starts it.
    case task(TransferTask, TaskCommand)
    /// Takes over a task that has to be watched before it is resumed: one that expires or was accepted.
    case adopt(TransferTask)
    /// Changes how many suspensions a task has; `done` is called when that is applied, and durable if it has to be.
    case setSuspensions(TransferTask, @Sendable (Int) -> Int, done: @Sendable (JournalError?) -> Void)
    case stream(UInt64, TaskBodies.StreamEvent)
    indirect case delegate(UInt64, DelegateDispatcher.Event)
    case journal(UInt64, JournalWriter.Event)
    indirect case gate(target: UInt64, PathGate.Event)
    case disk(UInt64, DiskEvent)
    /// Counts what only the session's thread can count.
    case count
    /// Starts no attempt any more: holds what would start one.
    case holdAll
    /// Forgets what was learned from servers; `done` is called when the files are gone.
    case reset(done: @Sendable () -> Void)
    case drain(cancellingTasks: Bool, done: @Sendable () -> Void)
}
