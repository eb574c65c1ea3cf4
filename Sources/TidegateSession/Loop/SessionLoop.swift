internal import TidegateCore
internal import TidegateTransfer

/// The session on its thread: takes commands, reports and timers in, and leads each to the component that it is for.
final class SessionLoop: TransferClient, TaskEffectHandler {
    private let engine: TransferEngine
    private let table: TaskTable
    private let driver: TaskDriver
    private let admission: AttemptAdmission
    private let runner: AttemptRunner
    private let completion: AttemptCompletion
    private let paths: PathLossHandler
    private let finisher: TaskFinisher
    private let commands: TaskCommands
    private let clocks: ClockExpiry
    private let hooks: HookAnswers
    private let lifecycle: SessionLifecycle

    init(engine: TransferEngine, dependencies given: SessionDependencies) {
        let base = SessionComponents(engine, given)
        let pool = PoolGeneration(engine: engine, lookup: base.lookup, publisher: base.driver.publisher)
        let reports = AttemptReports(
            engine: engine, driver: base.driver, lookup: base.lookup, admission: base.admission,
            failures: base.failures, bodies: base.bodies, delegate: base.delegate, journal: base.journal,
            revalidator: base.revalidator)
        let questions = HookQuestions(
            driver: base.driver, delegate: base.delegate, failures: base.failures, requests: base.requests,
            random: given.random)
        self.engine = engine
        self.table = base.table
        self.driver = base.driver
        self.admission = base.admission
        self.runner = AttemptRunner(
            engine: engine, driver: base.driver, table: base.table, lookup: base.lookup, pool: pool, reports: reports,
            failures: base.failures, bodies: base.bodies, delegate: base.delegate, journal: base.journal,
            requests: base.requests, pauseLimit: given.configuration.pauseLimit)
        self.completion = AttemptCompletion(
            driver: base.driver, gate: base.gate, runner: self.runner, reports: reports, pool: pool,
            admission: base.admission, origins: base.origins, failures: base.failures, bodies: base.bodies,
            hooks: questions, requests: base.requests, revalidator: base.revalidator)
        self.paths = PathLossHandler(
            engine: engine, driver: base.driver, table: base.table, gate: base.gate, pool: pool, runner: self.runner,
            reports: reports, admission: base.admission, completion: self.completion,
            configuration: given.configuration)
        self.finisher = TaskFinisher(
            driver: base.driver, table: base.table, gate: base.gate, admission: base.admission, origins: base.origins,
            failures: base.failures, bodies: base.bodies, delegate: base.delegate, journal: base.journal,
            revalidator: base.revalidator)
        self.commands = TaskCommands(
            driver: base.driver, table: base.table, admission: base.admission, origins: base.origins,
            failures: base.failures, runner: self.runner, reports: reports, finisher: self.finisher,
            journal: base.journal)
        self.clocks = ClockExpiry(
            engine: engine, driver: base.driver, failures: base.failures, origins: base.origins, runner: self.runner,
            completion: self.completion, paths: self.paths, bodies: base.bodies, time: given.time)
        self.hooks = HookAnswers(
            engine: engine, driver: base.driver, delegate: base.delegate, questions: questions, runner: self.runner,
            reports: reports, completion: self.completion, commands: self.commands, bodies: base.bodies,
            failures: base.failures, finisher: self.finisher)
        self.lifecycle = SessionLifecycle(
            engine: engine, driver: base.driver, table: base.table, commands: self.commands, finisher: self.finisher, pool: pool,
            given: given)
        self.driver.handler = self
    }

    // MARK: - Commands

    func receive(_ command: SessionCommand) {
        self.handle(command)
        self.driver.drain()
    }

    private func handle(_ command: SessionCommand) {
        switch command {
        case .task(let task, let command):
            if let record = self.record(of: task) { self.commands.carryOut(command, record) }
        case .adopt(let task): self.adopt(task)
        case .setSuspensions(let task, let change, let done):
            guard let record = self.record(of: task) else { return done(self.lifecycle.isUnderWay ? .ending : nil) }
            self.commands.setSuspensions(record, change, done: done)
        case .stream(let number, let event): if let record = self.table[number] { self.stream(event, record) }
        case .delegate(let number, let event):
            if let record = self.table[number] { self.hooks.delegate(event, record) }
        case .journal(let number, let event):
            if let record = self.table[number] { self.commands.journalAnswered(event, record) }
        case .gate(let target, let event): self.paths.gate(event, target: target)
        case .disk(let number, let event): if let record = self.table[number] { self.finisher.disk(event, record) }
        case .count: self.count()
        case .holdAll: self.commands.holdForShutdown(self.table.all)
        case .reset(let done): self.lifecycle.reset(done)
        case .drain(let cancelling, let done): self.lifecycle.begin(cancellingTasks: cancelling, done)
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
            self.driver.touch(record)
        }
        self.commands.begin(record)
    }

    // The session's end and a new task may pass each other on the way here.
    private func record(of task: TransferTask) -> TaskRecord? {
        guard let record = self.table.record(of: task), !self.lifecycle.cancelsLate(record) else { return nil }
        return record
    }

    private func count() {
        var counted = TaskRegistry.Counted()
        counted.idleConnections = self.engine.connections.idle
        counted.retryTokens = self.completion.retryTokens
        self.table.registry.note(counted)
    }

    // MARK: - What the tasks' machines decide

    func carryOut(_ effect: TaskMachine.Effect, _ record: TaskRecord) {
        switch effect {
        case .report: break
        // Another input may have come in between.
        case .seek: if record.machine.phase == .seeking { self.admission.seek(record) }
        case .stopSeeking: if !record.machine.isOnWire { self.admission.stopSeeking(record) }
        case .start: self.runner.start(record)
        case .pause: self.runner.pause(record)
        case .unpause: self.runner.unpause(record)
        case .detach(let cause): self.completion.detach(record, cause)
        case .commit: if record.machine.phase == .finishing { self.finisher.commit(record) }
        // The disk's answer will find the task over.
        case .abandonCommit: break
        case .end: self.finisher.end(record)
        }
    }

    // MARK: - Reports and timers

    func attempt(_ id: AttemptID, reported report: AttemptReport) {
        guard let record = self.table.record(of: id) else { return }
        self.completion.attempt(record, reported: report)
        self.driver.drain()
    }

    func timerFired(_ token: UInt64) {
        switch SessionTimer(token: token) {
        case .task(let number): if let record = self.table[number] { self.clocks.timerFired(record) }
        case .target(let number, let timer): self.paths.timerFired(timer, target: number)
        case .disk: self.lifecycle.abandonDisk()
        case .pendingTimers: self.driver.timers.setPending()
        case nil: break
        }
        self.driver.drain()
    }

    func batchEnded() {
        self.completion.batchEnded()
        self.driver.drain()
        self.driver.publisher.flush()
        self.lifecycle.finishIfEmpty()
    }

    func stopping() {
        self.lifecycle.abandonAll()
        self.paths.stop()
        self.driver.publisher.flush()
    }
}
