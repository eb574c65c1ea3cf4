internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// What the session's thread is asked for, and told.
enum SessionCommand: Sendable {
    case adopt(TransferTask)
    case resume(UInt64)
    case suspend(UInt64)
    case cancel(UInt64)
    /// Ends a download and keeps what has come.
    case cancelKeeping(UInt64)
    /// A hook has an answer.
    indirect case answered(UInt64, question: Int, HookAnswer)
    /// A body's reader takes chunks again, or the stream that is sent has bytes.
    case sinkHasRoom(UInt64)
    case sourceHasBytes(UInt64)
    /// Bytes of a body are to be told to whoever hears of them.
    case bodyCame(UInt64)
    /// A completion handler elsewhere has returned.
    case heard(UInt64)
    /// Changes how many suspensions an accepted task has; `done` hears when that is durable, and applied.
    case order(UInt64, @Sendable (Int) -> Int, done: @Sendable (JournalError?) -> Void)
    /// What came of an entry of the journal's.
    case journaled(UInt64, JournalWrite, JournalError?)
    /// A watch has something to say.
    indirect case verdict(desk: UInt64, TargetVerdict)
    /// A name was resolved, or was not.
    case resolved(desk: UInt64, question: Int, Result<[IPAddress], ResolveFailure>)
    /// A finished download is in its place, or could not be put there.
    case committed(UInt64, Result<Bool, FileError>)
    /// What an unfinished download leaves behind has been seen to.
    case cleaned(UInt64)
    case count
    case drain(cancellingTasks: Bool, done: @Sendable () -> Void)
}

/// The way to the session's thread, as long as there is one.
final class Mailbox: Sendable {
    /// Where the session's own events go besides the bus.
    let tap: SessionEvents

    init(tap: SessionEvents) { self.tap = tap }

    private let thread = Mutex<TransferThread<SessionLoop>?>(nil)

    func connect(_ thread: TransferThread<SessionLoop>) { self.thread.withLock { $0 = thread } }

    /// False once the thread is gone, and then nothing happens.
    @discardableResult
    func send(_ command: SessionCommand) -> Bool {
        let thread = self.thread.withLock { $0 }
        return thread?.send(command) ?? false
    }

    /// Hangs up and gives the thread to whoever is to end it.
    func disconnect() -> TransferThread<SessionLoop>? { self.thread.withLock { $0.take() } }
}
