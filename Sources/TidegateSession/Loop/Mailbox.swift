internal import Synchronization
internal import TidegateCore
internal import TidegateLoop
internal import TidegateTransfer

/// The way to the session's thread, as long as there is one.
final class Mailbox: TaskController {
    /// Where the session's own events go besides the bus.
    let events: SessionEvents

    private struct Connection {
        let thread: TransferThread<SessionLoop>
        let inbox: Inbox<SessionCommand>
    }

    private let connection = Mutex<Connection?>(nil)

    init(events: SessionEvents) { self.events = events }

    func connect(_ thread: TransferThread<SessionLoop>) {
        self.connection.withLock { $0 = Connection(thread: thread, inbox: thread.inbox) }
    }

    /// Whether the thread has been in one turn for longer than 10 s.
    var isStalled: Bool { self.connection.withLock { $0?.thread.isStalled ?? false } }

    /// False once the thread is gone, and then nothing happens.
    @discardableResult
    func send(_ command: SessionCommand) -> Bool {
        let inbox = self.connection.withLock { $0?.inbox }
        return inbox?.put(command) ?? false
    }

    @discardableResult
    func send(_ command: TaskCommand, to task: TransferTask) -> Bool { self.send(.task(task, command)) }

    /// Hangs up and gives the thread to the caller, who ends it.
    func disconnect() -> TransferThread<SessionLoop>? { self.connection.withLock { $0.take()?.thread } }
}
