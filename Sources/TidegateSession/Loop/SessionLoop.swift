internal import Synchronization
internal import TidegateCore
internal import TidegateLoop
internal import TidegateTransfer

/// The session on its thread: every input changes the state, and then its effects are executed.
final class SessionLoop: TransferClient {
    private let engine: TransferEngine
    private let registry: TaskRegistry
    private var state: SessionState
    private let effects: EffectRunner
    private var pending = EffectQueue()
    private let mailbox: Mailbox
    private var commands: [SessionCommand] = []

    init(engine: TransferEngine, dependencies: SessionDependencies) {
        self.engine = engine
        self.registry = dependencies.registry
        self.state = SessionState(engine, dependencies)
        self.effects = EffectRunner(engine, dependencies)
        self.mailbox = dependencies.mailbox
        self.handle(.started)
    }

    func receive(_ command: SessionCommand) {
        if case .count = command { self.count() } else { self.handle(.command(command)) }
    }

    func attempt(_ id: AttemptID, reported report: AttemptReport) {
        self.handle(.attempt(id, report))
        guard case .finished = report else { return }
        // Commands caused by a task's end run before the next end: they reuse the memory that was just freed.
        var commands: [SessionCommand] = []
        swap(&commands, &self.commands)
        self.mailbox.take(into: &commands)
        for command in commands { self.receive(command) }
        commands.removeAll(keepingCapacity: commands.count <= 64)
        swap(&commands, &self.commands)
    }

    func timerFired(_ token: UInt64) {
        if let timer = SessionTimer(token: token) { self.handle(.timer(timer)) }
    }

    func batchEnded() {
        self.handle(.batchEnded)
        self.effects.flush(&self.pending)
    }

    func stopping() {
        self.handle(.stopping)
        self.effects.flush(&self.pending)
    }

    private func handle(_ input: consuming SessionInput) {
        self.change(input)
        while let input = self.effects.takeInput() { self.change(input) }
    }

    private func change(_ input: consuming SessionInput) {
        self.state.handle(input, at: self.engine.now, into: &self.pending)
        while let effect = self.pending.takeEffect() { self.effects.run(effect, &self.pending) }
    }

    private func count() {
        self.registry.note(
            TaskRegistry.Counted(
                idleConnections: self.engine.connections.idle,
                retryTokens: self.state.origins.tokens(at: self.engine.now)))
    }
}

/// Commands to the session's thread, and reports of other threads.
enum SessionCommand: Sendable {
    /// A user's command for a task; it also starts a task that was only created.
    case task(TransferTask, TaskCommand)
    /// Adopts a task that must be watched before it is resumed: one that expires or was accepted.
    case adopt(TransferTask)
    /// Changes a task's number of suspensions; `done` is called when the change is applied, and durable if required.
    case setSuspensions(TransferTask, @Sendable (Int) -> Int, done: @Sendable (JournalError?) -> Void)
    case stream(UInt64, TaskBodies.StreamEvent)
    indirect case delegate(UInt64, DelegateDispatcher.Event)
    case journal(UInt64, JournalWriter.Write, JournalError?)
    indirect case gate(target: UInt64, PathGate.Event)
    case disk(UInt64, DiskEvent)
    /// Counts values that only the session's thread knows.
    case count
    /// Starts no more attempts: holds tasks that would start one.
    case holdAll
    /// Forgets what was learned from servers; `done` is called when the files are gone.
    case reset(done: @Sendable () -> Void)
    case drain(cancellingTasks: Bool, done: @Sendable () -> Void)
}

/// The route for commands to the session's thread, as long as it exists.
final class Mailbox: TaskController {
    /// The subscribers of the session's own events, besides the bus.
    let events: SessionEvents

    private let thread = Mutex<(TransferThread<SessionLoop>, inbox: Inbox<SessionCommand>)?>(nil)

    init(events: SessionEvents) { self.events = events }

    func connect(_ thread: TransferThread<SessionLoop>) { self.thread.withLock { $0 = (thread, thread.inbox) } }

    /// Whether the thread has been stuck in one turn for longer than 10 s.
    var load: ThreadLoad? { self.thread.withLock { $0?.0.load } }

    /// False if the thread is gone, in which case nothing happens.
    @discardableResult
    func send(_ command: SessionCommand) -> Bool {
        let inbox = self.thread.withLock { $0?.inbox }
        return inbox?.put(command) ?? false
    }

    /// Moves the waiting commands into an empty array; called on the thread itself.
    func take(into commands: inout [SessionCommand]) {
        _ = self.thread.withLock { $0?.inbox }?.takeAll(into: &commands)
    }

    @discardableResult
    func send(_ command: TaskCommand, to task: TransferTask) -> Bool { self.send(.task(task, command)) }

    /// Disconnects the thread and returns it to the caller, who must end it.
    func disconnect() -> TransferThread<SessionLoop>? { self.thread.withLock { $0.take()?.0 } }
}
