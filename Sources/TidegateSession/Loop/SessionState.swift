internal import TidegateCore
internal import TidegateTransfer

/// The dependencies of a session's loop.
struct SessionDependencies: Sendable {
    let configuration: SessionConfiguration
    let bus: EventBus
    let paths: any PathSource
    let resolver: any NameResolver
    let time: any TimeSource
    let random: RandomSource
    let disk: DiskThread
    let mailbox: Mailbox
    let registry: TaskRegistry
    let journal: (any JournalStorage)?
    let hooks: SessionHooks?
    let observer: TaskObserver?
    let tracer: (any TaskTracer)?
    /// The findings of the latest diagnosis of the host for an address family; nil if there is no recent one.
    let diagnosis: @Sendable (AddressFamily) -> SilenceEvidence?

    var delegate: DelegateDispatcher {
        DelegateDispatcher(hooks: self.hooks, observer: self.observer, mailbox: self.mailbox)
    }
}

/// An input of a session.
enum SessionInput {
    case command(SessionCommand)
    case attempt(AttemptID, AttemptReport)
    /// The engine did not start an attempt, for this reason.
    case notStarted(AttemptID, String)
    /// The attempt cannot be paused.
    case notPaused(AttemptID)
    case timer(SessionTimer)
    /// The thread has started.
    case started
    /// The task that these tasks waited for has ended.
    case released([UInt64])
    /// Everything that was ready in this turn of the thread has been handled.
    case batchEnded
    /// The thread is about to end: every waiting caller must be released.
    case stopping
}

/// The state of a session and its tasks: takes inputs, and returns their effects.
///
/// It checks and opens files itself; all other work outside waits until the state is complete.
struct SessionState: ~Copyable {
    var tasks: SessionTasks
    let gates: PathGate
    var admission: AttemptAdmission
    var origins: RetryController
    var failures: FailureReporter
    var pool: PoolGeneration
    /// True if the session is ending: tasks are drained or cancelled.
    var isEnding = false
    /// True if tasks are cancelled, including those still on their way to the thread.
    var isCancelling = false
    /// Called when no task is left.
    var endCallbacks: [@Sendable () -> Void] = []
    let bodies: TaskBodies
    let requests: AttemptRequestFactory
    let journal: JournalWriter
    let engine: any AttemptEngine
    /// Tasks whose response head arrived in this batch; most of them have ended by the end of the batch.
    private var withHead = ReusedQueue<UInt64>()

    init(_ engine: any AttemptEngine, _ given: SessionDependencies) {
        let (configuration, mailbox, random) = (given.configuration, given.mailbox, given.random)
        self.engine = engine
        self.tasks = SessionTasks(given.registry, configuration, timers: engine)
        self.gates = PathGate(paths: given.paths, timers: engine) { mailbox.send(.gate(target: $0, $1)) }
        self.admission = AttemptAdmission(
            gates: self.gates, random: random,
            limiter: ConnectionLimiter(
                perOrigin: configuration.maxConnectionsPerHost, inAll: configuration.maxConnections))
        self.origins = RetryController(
            circuitPolicy: configuration.circuit, budgetPolicy: configuration.budget,
            countsBudgets: configuration.reportsRetryTokens, random: random)
        self.failures = FailureReporter(gate: self.gates, diagnosis: given.diagnosis)
        self.pool = PoolGeneration(engine)
        self.journal = JournalWriter(journal: given.journal, time: given.time)
        self.bodies = TaskBodies(
            journal: self.journal, random: random, diskRecheck: configuration.diskRecheck, mailbox: mailbox)
        self.requests = AttemptRequestFactory(
            configuration: configuration, time: given.time, bodies: self.bodies, delegate: given.delegate,
            random: random, revalidator: ResponseRevalidator(store: configuration.validators))
    }

    var configuration: SessionConfiguration { self.requests.configuration }
    var delegate: DelegateDispatcher { self.requests.delegate }
    var revalidator: ResponseRevalidator { self.requests.revalidator }

    // MARK: - Inputs

    /// Handles an input, and adds its effects to `effects`, in order.
    mutating func handle(_ input: consuming SessionInput, at now: MonotonicTime, into effects: inout EffectQueue) {
        self.tasks.begin(at: now, &effects)
        self.take(input)
        self.carryOutSteps()
        self.tasks.settle()
        self.gates.inputEnded()
        self.tasks.end(&effects)
        self.pool.inputEnded()
    }

    private mutating func take(_ input: consuming SessionInput) {
        switch input {
        case .command(let command): self.take(command)
        case .attempt(let id, let report):
            if let record = self.tasks.record(of: id) { AttemptRules.attempt(record, reported: report, in: &self) }
        case .notStarted(let id, let message):
            if let record = self.tasks.record(of: id) {
                AttemptRules.cannotStart(record, .invalidRequest, message, in: &self)
            }
        case .notPaused(let id):
            guard let record = self.tasks.record(of: id) else { return }
            record.clocks.cancel(.pause)
            AttemptRules.releaseConnection(record, in: &self)
        case .timer(let timer): self.fired(timer)
        case .started: self.revalidator.reportProblems(&self.tasks)
        case .released(let numbers):
            for number in numbers {
                if let record = self.tasks[number] { self.tasks.feed(.release(.schedule), to: record) }
            }
        case .batchEnded:
            self.showHeads()
            self.renewPoolIfStale()
            TaskCommands.finishIfEmpty(in: &self)
        case .stopping: TaskCommands.abandonAll(in: &self)
        }
    }

    private mutating func take(_ command: consuming SessionCommand) {
        switch command {
        case .task(let task, let command):
            if let record = TaskCommands.record(of: task, in: &self) { TaskCommands.obey(command, record, in: &self) }
        case .adopt(let task):
            if let record = TaskCommands.record(of: task, in: &self) { TaskCommands.adopt(record, in: &self) }
        case .setSuspensions(let task, let change, let done):
            guard let record = TaskCommands.record(of: task, in: &self) else {
                let error: JournalError? = self.isEnding ? .ending : nil
                return self.tasks.call { done(error) }
            }
            TaskCommands.setSuspensions(record, change, done: done, in: &self)
        case .stream(let number, let event): if let record = self.tasks[number] { self.stream(event, record) }
        case .delegate(let number, let event):
            if let record = self.tasks[number] { self.delegateReported(event, record) }
        case .journal(let number, let write, let error):
            if let record = self.tasks[number] { TaskCommands.journalAnswered(write, error, record, in: &self) }
        case .gate(let number, let event):
            if let target = self.gates.target(number) { GateRules.gateReported(event, target, in: &self) }
        case .disk(let number, let event):
            if let record = self.tasks[number] { EndRules.diskReported(event, record, in: &self) }
        case .count: break
        case .holdAll: TaskCommands.holdForShutdown(in: &self)
        case .reset(let done): TaskCommands.reset(done, in: &self)
        case .drain(let cancelling, let done): TaskCommands.begin(cancellingTasks: cancelling, done, in: &self)
        }
    }

    private mutating func stream(_ event: TaskBodies.StreamEvent, _ record: TaskRecord) {
        switch event {
        case .sinkHasRoom: if let live = record.live { self.tasks.add(.sinkHasRoom(live.id)) }
        case .sourceHasBytes: if let live = record.live { self.tasks.add(.sourceHasBytes(live.id)) }
        case .readerIsGone: TaskCommands.cancel(record, in: &self)
        }
    }

    private mutating func fired(_ timer: SessionTimer) {
        switch timer {
        case .task(let number): if let record = self.tasks[number] { ClockRules.clocksDue(record, in: &self) }
        case .target(let number, let timer):
            if let target = self.gates.target(number) { GateRules.targetTimerFired(timer, target, in: &self) }
        case .disk: TaskCommands.abandonDisk(in: &self)
        case .pendingTimers: self.tasks.setPendingTimers()
        }
    }

    // MARK: - Decisions of the tasks' machines

    /// Executes the machines' decisions so far, in order, with their consequences.
    mutating func carryOutSteps() {
        while let (record, effect) = self.tasks.takeStep() { self.carryOut(effect, record) }
    }

    private mutating func carryOut(_ effect: TaskMachine.Effect, _ record: TaskRecord) {
        switch effect {
        case .report(let report): self.publish(report, record)
        // Another input may have arrived in between.
        case .seek: if record.machine.phase == .seeking { GateRules.seek(record, in: &self) }
        case .stopSeeking:
            if !record.machine.isOnWire, record.machine.phase != .seeking { GateRules.stopSeeking(record, in: &self) }
        case .start: AttemptRules.start(record, in: &self)
        case .pause: AttemptRules.pause(record, in: &self)
        case .unpause: AttemptRules.unpause(record, in: &self)
        case .detach(let cause): record.detach(cause, in: &self)
        case .commit: if record.machine.phase == .finishing { EndRules.commit(record, in: &self) }
        // When the disk answers, the task will have ended.
        case .abandonCommit: break
        case .end: EndRules.end(record, in: &self)
        }
    }

    private mutating func publish(_ report: TaskMachine.Report, _ record: TaskRecord) {
        switch report {
        case .resumed: self.tasks.publish(.resumed, record)
        case .suspended(let reason): self.tasks.publish(.suspended(reason), record)
        case .held(let reason, let detail): self.tasks.publish(.held(reason, detail: detail), record)
        case .released(let reason, let after): self.tasks.publish(.released(reason, after: after), record)
        case .attemptStarted(let number): self.tasks.publish(.attemptStarted(number: number), record)
        }
    }

    // MARK: - Heads

    /// Publishes how a task left its gate, once for every attempt.
    mutating func leaveGate(_ record: TaskRecord, _ result: TaskEvent.GateResult) {
        if let change = self.gates.leave(record.number, &record.gate, result, now: self.tasks.now) {
            self.tasks.publish(change, record)
        }
    }

    /// Shows a response's head at the end of the batch, unless the whole response has arrived by then.
    mutating func noteHead(_ record: TaskRecord) { self.withHead.append(record.number) }

    private mutating func showHeads() {
        while let number = self.withHead.takeFirst() {
            if let record = self.tasks[number], record.live?.head != nil { self.tasks.touch(record) }
        }
    }

    /// Starts the connection pool that a changed path requires.
    mutating func renewPoolIfStale() {
        if self.pool.renewIfStale() { self.beginPool(.poolReplaced(number: self.pool.current)) }
    }

    mutating func beginPool(_ event: SessionEvent) {
        self.tasks.add(.beginPool)
        for effect in self.gates.networkChanged() { self.tasks.add(effect) }
        self.tasks.announce(event)
    }
}

/// The session's view of the engine that runs its attempts, and of the engine's timers.
protocol AttemptEngine: TimerQueue {
    /// The generation of the pool for new attempts.
    var poolGeneration: Int { get }
    /// The counters of a running attempt; nil if it has ended.
    func progress(of id: AttemptID) -> AttemptProgress?
    /// Whether a running attempt has a TCP connection.
    func isConnected(_ id: AttemptID) -> Bool
    /// The unfinished connect of a running attempt that has come furthest so far; nil if it is connected or has ended.
    func failedConnect(of id: AttemptID) -> FailedConnect?
}

extension TransferEngine: AttemptEngine {}

/// The generation of the connection pool, and whether the next attempt starts a new one.
struct PoolGeneration {
    private let engine: any AttemptEngine
    private var isStale = false
    /// The number of pools to start after the current input.
    private var begun = 0
    /// The first generation after the last reset.
    private var firstSinceReset = 0

    init(_ engine: any AttemptEngine) { self.engine = engine }

    var current: Int { self.engine.poolGeneration + self.begun }

    /// Records that the current pool's connections may be dead.
    mutating func markStale() { self.isStale = true }

    /// Starts the pool that a change requires, before anything else starts; false if none is required.
    mutating func renewIfStale() -> Bool {
        guard self.isStale else { return false }
        self.isStale = false
        self.begun += 1
        return true
    }

    /// Starts a new pool on request, rather than because the network has changed.
    mutating func reset() {
        self.isStale = false
        self.begun += 1
        self.firstSinceReset = self.current
    }

    /// Records that the engine has started the pools.
    mutating func inputEnded() { self.begun = 0 }

    /// True for an attempt from before the last reset: what it learns must be discarded.
    func isFromBeforeReset(_ live: LiveAttempt) -> Bool { live.pool.map { $0 < self.firstSinceReset } ?? false }
}
