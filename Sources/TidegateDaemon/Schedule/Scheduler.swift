package import TidegateCore

/// Gives scheduled tasks their turns: the shell around ``ScheduleMachine``.
package actor Scheduler {
    /// Carries out one turn; returns when the run is over, soon when its Swift task is cancelled.
    package typealias Turn = @Sendable (ScheduledTask) async -> Void

    private let time: any TimeSource
    private let turn: Turn
    private let onSkip: @Sendable (String) -> Void
    private var generator = SystemRandomNumberGenerator()
    private var machine = ScheduleMachine()
    private var tasks: [String: ScheduledTask] = [:]
    private var runs: [String: Task<Void, Never>] = [:]
    private var timer: Task<Void, Never>?
    private var isStopped = false

    /// A scheduler without tasks; `onSkip` hears the name of a task that lost its turn.
    package init(time: any TimeSource, onSkip: @escaping @Sendable (String) -> Void, turn: @escaping Turn) {
        self.time = time
        self.onSkip = onSkip
        self.turn = turn
    }

    /// Takes these tasks from now on.
    ///
    /// Runs of tasks that are gone are cancelled; others go on as they began.
    package func load(_ tasks: [ScheduledTask]) {
        guard !self.isStopped else { return }
        self.tasks = Dictionary(tasks.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.handle(.loaded(tasks.map { .init(name: $0.name, every: $0.every, jitter: $0.jitter) }))
        self.handle(.tick)
    }

    /// Cancels every run and waits for all of them to be over.
    package func stop() async {
        self.isStopped = true
        self.timer?.cancel()
        let runs = self.runs.values
        for run in runs { run.cancel() }
        for run in runs { await run.value }
    }

    private func handle(_ input: ScheduleMachine.Input) {
        guard !self.isStopped else { return }
        for effect in self.machine.handle(input, at: self.time.monotonic(), using: &self.generator) {
            switch effect {
            case .run(let name): self.start(name)
            case .skip(let name): self.onSkip(name)
            case .cancel(let name): self.runs[name]?.cancel()
            }
        }
        self.armTimer()
    }

    private func start(_ name: String) {
        guard let task = self.tasks[name] else { return }
        let turn = self.turn
        self.runs[name] = Task { [weak self] in
            await turn(task)
            await self?.ended(name)
        }
    }

    private func ended(_ name: String) {
        self.runs[name] = nil
        self.handle(.ended(name))
    }

    private func armTimer() {
        self.timer?.cancel()
        guard let due = self.machine.nextDue else { return }
        let wait = max(.zero, due - self.time.monotonic())
        self.timer = Task { [weak self] in
            // Cancelled means that another timer has taken over.
            guard (try? await Task.sleep(for: wait, clock: .continuous)) != nil else { return }
            await self?.handle(.tick)
        }
    }
}
