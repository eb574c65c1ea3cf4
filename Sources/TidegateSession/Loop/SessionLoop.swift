internal import TidegateCore
internal import TidegateTransfer

/// The session on its thread: every input changes the state, and then what follows from that is done.
final class SessionLoop: TransferClient {
    private let engine: TransferEngine
    private let registry: TaskRegistry
    private var state: SessionState
    private let effects: EffectRunner
    private var pending = EffectQueue()

    init(engine: TransferEngine, dependencies: SessionDependencies) {
        self.engine = engine
        self.registry = dependencies.registry
        self.state = SessionState(engine, dependencies)
        self.effects = EffectRunner(engine, dependencies)
        self.handle(.started)
    }

    func receive(_ command: SessionCommand) {
        if case .count = command { self.count() } else { self.handle(.command(command)) }
    }

    func attempt(_ id: AttemptID, reported report: AttemptReport) { self.handle(.attempt(id, report)) }

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
                retryTokens: self.state.origins.controller.tokens(at: self.engine.now)))
    }
}
