internal import TidegateCore
internal import TidegateTransfer

/// The session on its thread: takes commands, reports and timers in, and leads each to the component that it is for.
final class SessionLoop: TransferClient {
    /// How long the disk may take to finish when the tasks are cancelled.
    private static let diskPatience = Duration.seconds(5)

    /// The end of the session.
    private struct Draining {
        var isUnderWay = false
        /// True if tasks are cancelled, those too that are still on their way here.
        var isCancelling = false
        /// Called once no task is left.
        var done: [@Sendable () -> Void] = []
    }

    private let engine: TransferEngine
    private let table: TaskTable
    private let driver: TaskDriver
    private let effects: EffectRouter
    private let completion: AttemptCompletion
    private let paths: PathLossHandler
    private let finisher: TaskFinisher
    private let commands: UserCommands
    private let accepted: AcceptedTasks
    private let clocks: ClockExpiry
    private let hooks: HookAnswers
    private var draining = Draining()

    init(engine: TransferEngine, dependencies given: SessionDependencies) {
        let base = SessionServices(engine, given)
        let runner = AttemptRunner(
            engine: engine, driver: base.driver, table: base.table, lookup: base.lookup, admission: base.admission,
            failures: base.failures, bodies: base.bodies, limits: base.limits, delegate: base.delegate,
            journal: base.journal, requests: base.requests)
        let questions = HookQuestions(
            driver: base.driver, delegate: base.delegate, failures: base.failures, requests: base.requests,
            random: given.random, proxy: base.requests.proxy)
        self.engine = engine
        self.table = base.table
        self.driver = base.driver
        self.completion = AttemptCompletion(
            driver: base.driver, gate: base.gate, runner: runner, admission: base.admission, origins: base.origins,
            failures: base.failures, bodies: base.bodies, limits: base.limits, hooks: questions,
            journal: base.journal, time: given.time)
        self.paths = PathLossHandler(
            engine: engine, driver: base.driver, table: base.table, gate: base.gate, runner: runner,
            admission: base.admission, completion: self.completion, hooks: questions, failures: base.failures,
            origins: base.origins, configuration: given.configuration)
        self.finisher = TaskFinisher(
            driver: base.driver, table: base.table, registry: given.registry, gate: base.gate,
            admission: base.admission, origins: base.origins, failures: base.failures, bodies: base.bodies,
            limits: base.limits, delegate: base.delegate, journal: base.journal)
        self.commands = UserCommands(
            driver: base.driver, admission: base.admission, origins: base.origins, failures: base.failures,
            journal: base.journal)
        self.accepted = AcceptedTasks(
            driver: base.driver, table: base.table, commands: self.commands, runner: runner,
            failures: base.failures, finisher: self.finisher, journal: base.journal)
        self.clocks = ClockExpiry(
            engine: engine, driver: base.driver, failures: base.failures, origins: base.origins, paths: self.paths,
            limits: base.limits, time: given.time)
        self.hooks = HookAnswers(
            engine: engine, driver: base.driver, delegate: base.delegate, questions: questions, runner: runner,
            completion: self.completion, commands: self.commands, bodies: base.bodies, failures: base.failures,
            finisher: self.finisher)
        self.effects = EffectRouter(
            admission: base.admission, bodies: base.bodies, runner: runner, paths: self.paths,
            finisher: self.finisher)
        self.driver.handler = self.effects
    }

    // MARK: - Commands

    func receive(_ command: SessionCommand) {
        switch command {
        case .task(let task, let command):
            if let record = self.record(of: task) { self.commands.carryOut(command, record) }
        case .adopt(let task): self.adopt(task)
        case .setSuspensions(let task, let change, let done):
            guard let record = self.record(of: task) else { return done(self.draining.isUnderWay ? .ending : nil) }
            self.commands.setSuspensions(record, change, done: done)
        case .stream(let number, let event): if let record = self.table[number] { self.stream(event, record) }
        case .delegate(let number, let event):
            if let record = self.table[number] { self.hooks.delegate(event, record) }
        case .journal(let number, let event):
            if let record = self.table[number] { self.accepted.journalAnswered(event, record) }
        case .gate(let target, let event): self.paths.gate(event, target: target)
        case .disk(let number, let event): if let record = self.table[number] { self.finisher.disk(event, record) }
        case .count: self.count()
        case .holdAll: self.commands.holdForShutdown(self.table.all)
        case .drain(let cancelling, let done): self.drain(cancellingTasks: cancelling, done)
        }
    }

    private func stream(_ event: TaskBodies.StreamEvent, _ record: TaskRecord) {
        switch event {
        case .sinkHasRoom: if let id = record.live?.id { self.engine.sinkHasRoom(id) }
        case .sourceHasBytes: if let id = record.live?.id { self.engine.sourceHasBytes(id) }
        case .readerIsGone: self.commands.cancel(record)
        }
    }

    private func adopt(_ task: TransferTask) {
        guard let record = self.record(of: task) else { return }
        if task.request.expires != nil {
            self.clocks.scheduleExpiry(record)
            self.driver.settle(record)
        }
        self.accepted.begin(record)
    }

    // The session's end and a new task may pass each other on the way here.
    private func record(of task: TransferTask) -> TaskRecord? {
        guard let record = self.table.record(of: task) else { return nil }
        guard self.draining.isCancelling, !record.machine.isOver else { return record }
        self.commands.preserve(record)
        self.commands.cancel(record)
        return nil
    }

    private func count() {
        var counted = TaskRegistry.Counted()
        counted.idleConnections = self.engine.connections.idle
        counted.retryTokens = self.completion.retryTokens
        self.table.registry.note(counted)
    }

    // MARK: - Reports and timers

    func attempt(_ id: AttemptID, reported report: AttemptReport) {
        if let record = self.table.record(of: id) { self.completion.attempt(record, reported: report) }
    }

    func timerFired(_ token: UInt64) {
        switch SessionTimer(token: token) {
        case .task(let number): if let record = self.table[number] { self.clocks.timerFired(record) }
        case .target(let number, let timer): self.paths.timerFired(timer, target: number)
        case .disk: self.abandonDisk()
        case .pendingTimers: self.driver.timers.setPending()
        case nil: break
        }
    }

    func batchEnded() {
        self.completion.batchEnded()
        self.driver.publisher.flush()
        self.finishDraining()
    }

    // MARK: - The end of the session

    private func drain(cancellingTasks: Bool, _ done: @escaping @Sendable () -> Void) {
        self.draining.isUnderWay = true
        self.draining.done.append(done)
        guard cancellingTasks else { return }
        self.draining.isCancelling = true
        for record in self.table.inOrderOfCancellation {
            self.commands.preserve(record)
            self.commands.cancel(record)
        }
        // A disk that does not answer is not waited for without end.
        _ = self.engine.schedule(after: SessionLoop.diskPatience, token: SessionTimer.disk.token)
    }

    private func finishDraining() {
        guard self.draining.isUnderWay, !self.draining.done.isEmpty, self.table.isEmpty else { return }
        let done = self.draining.done
        self.draining.done = []
        for call in done { call() }
    }

    private func abandonDisk() {
        if !self.table.hasNoRecords { self.table.registry.noteStuckDisk() }
        for record in self.table.all { self.finisher.abandon(record) }
    }

    // A caller that waits for a task must not wait for ever because its session was dropped.
    func stopping() {
        for record in self.table.inOrderOfCancellation {
            self.commands.preserve(record)
            self.commands.cancel(record)
            self.finisher.abandon(record)
        }
        self.paths.stop()
        self.driver.publisher.flush()
    }
}
