internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// The way to the session's thread, as long as there is one.
final class Mailbox: TaskController {
    /// Where the session's own events go besides the bus.
    let events: SessionEvents

    private let thread = Mutex<TransferThread<SessionLoop>?>(nil)

    init(events: SessionEvents) { self.events = events }

    func connect(_ thread: TransferThread<SessionLoop>) { self.thread.withLock { $0 = thread } }

    /// False once the thread is gone, and then nothing happens.
    @discardableResult
    func send(_ command: SessionCommand) -> Bool {
        let thread = self.thread.withLock { $0 }
        return thread?.send(command) ?? false
    }

    @discardableResult
    func send(_ command: TaskCommand, to task: TransferTask) -> Bool { self.send(.task(task, command)) }

    /// Hangs up and gives the thread to the caller, who ends it.
    func disconnect() -> TransferThread<SessionLoop>? { self.thread.withLock { $0.take() } }
}
