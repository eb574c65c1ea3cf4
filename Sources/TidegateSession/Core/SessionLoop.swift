internal import TidegateCore
internal import TidegateTransfer

/// The session on its thread: every task, every desk, the queue and the budgets.
///
/// Nobody else touches them.
final class SessionLoop: TransferClient {
    let engine: TransferEngine
    let surroundings: Surroundings
    let configuration: SessionConfiguration
    /// The moment at which the batch began that is being handled.
    private(set) var now: MonotonicTime

    /// Tasks that were let go, or that something can happen to meanwhile.
    var records: [UInt64: TaskRecord] = [:]
    /// The others; the newest one is mostly let go at once, and is kept apart until the next one comes.
    var asleep: [UInt64: TransferTask] = [:]
    var newest: TransferTask?
    var latestTerms: (request: TaskRequest, terms: ResolvedPolicies)?
    var desks: [Target: TargetState] = [:]
    var desksByNumber: [UInt64: TargetState] = [:]
    var lastDesk: UInt64 = 0
    var latestDesk: TargetState?
    /// The proxy; nil sends requests directly.
    let proxy: HTTPURL?
    var queue: AdmissionQueue
    var budgets = OriginTable<RetryBudget>()
    /// Who could be reached lately.
    var peers = PeerHistory()
    /// Origins that asked to be left alone for a while.
    var restingUntil = OriginTable<MonotonicTime>()
    /// Whose attempt told something last: it mostly has more to tell.
    var latestToTell: TaskRecord?
    var epochIsStale = false
    /// True while waiting tasks are let in; one that fails at once must not let the next one in from inside.
    var isAdmitting = false
    /// Tasks that the next sweep sets a timer for, if they are still there.
    var unswept: [UInt64] = []
    /// Tasks whose answer's head came in this batch.
    var started: [TaskRecord] = []
    /// The accepted tasks among the records.
    var journaled: [TaskID: UInt64] = [:]
    /// Origins that have failed lately.
    var circuits = OriginTable<Circuit>()
    var drained: [@Sendable () -> Void] = []
    var isDraining = false

    /// What a session is given by whoever makes it.
    struct Surroundings: Sendable {
        let configuration: SessionConfiguration
        let bus: EventBus
        let paths: any PathSource
        let resolver: any NameResolver
        let time: any TimeSource
        let dice: RandomSource
        let disk: DiskThread
        let line: Mailbox
        let registry: TaskRegistry
        let journal: (any TaskJournal)?
        let hooks: SessionHooks?
        let hearing: TaskObserver?
    }

    init(engine: TransferEngine, surroundings: Surroundings) {
        self.engine = engine
        self.now = engine.now
        self.surroundings = surroundings
        self.configuration = surroundings.configuration
        self.proxy = surroundings.configuration.proxy.flatMap { try? HTTPURL($0) }
        self.queue = AdmissionQueue(
            perOrigin: surroundings.configuration.maxConnectionsPerHost,
            inAll: surroundings.configuration.maxConnections)
    }

    func receive(_ command: SessionCommand) {
        self.now = self.engine.now
        switch command {
        case .adopt(let task): self.adopt(task)
        case .resume(let number): self.resume(number)
        case .suspend(let number): self.suspend(number)
        case .cancel(let number): if let record = self.record(number) { self.cancel(record) }
        case .cancelKeeping(let number): self.cancelKeeping(number)
        case .answered(let number, let question, let answer):
            if let record = self.records[number] { self.answered(answer, question: question, record) }
        case .sinkHasRoom(let number): if let id = self.records[number]?.attempt?.id { self.engine.sinkHasRoom(id) }
        case .sourceHasBytes(let number):
            if let id = self.records[number]?.attempt?.id { self.engine.sourceHasBytes(id) }
        case .bodyCame(let number): if let record = self.records[number] { self.tellData(record) }
        case .heard(let number): self.heard(number)
        case .order(let number, let change, let done): self.order(number, change, done)
        case .journaled(let number, let step, let error):
            if let record = self.records[number] { self.journaled(step, record, error) }
        case .verdict(let desk, let verdict):
            if let desk = self.desksByNumber[desk] { self.verdictArrived(verdict, at: desk) }
        case .resolved(let desk, let question, let result):
            if let desk = self.desksByNumber[desk], desk.question == question { self.resolved(result, at: desk) }
        case .committed(let number, let result):
            if let record = self.records[number] { self.committed(record, result) }
        case .cleaned(let number): if let record = self.records[number] { self.publishEnd(of: record) }
        case .count: self.count()
        case .drain(let cancelling, let done): self.drain(cancellingTasks: cancelling, done)
        }
    }

    func attempt(_ id: AttemptID, reported report: AttemptReport) {
        self.now = self.engine.now
        guard let record = self.record(of: id) else { return }
        switch report {
        case .wireReached(let contact): self.wireReached(contact, record)
        case .head(let head): self.headArrived(head, record)
        case .progress(let progress): self.progressed(progress, record)
        case .finished(let outcome): self.finished(outcome, record)
        }
    }

    func timerFired(_ token: UInt64) {
        self.now = self.engine.now
        switch SessionTimer(token: token) {
        case .task(let number): if let record = self.records[number] { self.alarmRang(record) }
        case .desk(let number, let alarm):
            guard let desk = self.desksByNumber[number] else { return }
            desk.alarms[alarm] = nil
            self.alarmRang(alarm, at: desk)
        case .disk: self.leaveDisk()
        case .sweep: self.sweep()
        case nil: break
        }
    }

    // Nobody waits for a disk that does not answer.
    private func leaveDisk() {
        if !self.records.isEmpty { self.surroundings.registry.noteStuckDisk() }
        for record in self.records.values.sorted(by: { $0.number < $1.number }) {
            record.journal?.isLeft = true
            self.stopWaitingForHandler(record)
            self.publishEnd(of: record)
        }
    }

    func batchEnded() {
        self.now = self.engine.now
        self.settleStarted()
        self.settleEpoch()
    }

    // Whoever waits for a task must not wait for ever because its session was dropped.
    func stopping() {
        self.now = self.engine.now
        self.cancelAll { record in
            self.leave(record)
            self.cancel(record)
            record.journal?.isLeft = true
            self.stopWaitingForHandler(record)
            self.publishEnd(of: record)
        }
        for desk in self.desksByNumber.values { desk.watch?.cancel() }
    }

    // MARK: - What users ask

    private func resume(_ number: UInt64) {
        guard let record = self.record(number) else { return }
        guard record.journal == nil else { return self.order(record, suspensions: { $0 - 1 }) }
        self.resumeNow(record)
    }

    func resumeNow(_ record: TaskRecord) {
        if record.tally.firstResumed == nil { record.tally.firstResumed = self.now }
        self.feed(.resume, to: record)
    }

    private func suspend(_ number: UInt64) {
        guard let record = self.record(number) else { return }
        guard record.journal == nil else { return self.order(record, suspensions: { $0 + 1 }) }
        self.suspendNow(record)
    }

    private func order(
        _ number: UInt64, _ change: @Sendable (Int) -> Int, _ done: @escaping @Sendable (JournalError?) -> Void
    ) {
        guard let record = self.record(number) else { return done(self.isDraining ? .ending : nil) }
        guard record.journal == nil else { return self.order(record, suspensions: change, done: done) }
        let (from, to) = (record.machine.suspendCount, change(record.machine.suspendCount))
        for _ in from..<max(from, to) { self.suspendNow(record) }
        for _ in to..<max(from, to) { self.resumeNow(record) }
        done(nil)
    }

    func suspendNow(_ record: TaskRecord) {
        self.feed(.suspend(.user), to: record)
        // Nobody waits for what a suspended task would find out.
        if record.attempt == nil { self.leaveProbe(record) }
        // A suspended task takes nobody's turn.
        if record.machine.isHeld(for: .concurrency) {
            self.queue.forget(record.number, record.hop.url.origin)
            self.feed(.release(.concurrency), to: record)
        }
    }

    private func cancelKeeping(_ number: UInt64) {
        guard let record = self.record(number) else { return }
        record.extra.keepsPart = true
        self.cancel(record)
    }

    func cancel(_ record: TaskRecord) {
        guard !record.machine.isOver else { return }
        self.leaveGate(record, .cancelled)
        self.feed(.cancel, to: record)
    }

    private func drain(cancellingTasks: Bool, _ done: @escaping @Sendable () -> Void) {
        self.isDraining = true
        self.drained.append(done)
        if cancellingTasks {
            self.cancelAll { record in
                self.leave(record)
                self.cancel(record)
            }
        }
        // Where the disk does not answer, nobody waits for it for ever.
        if cancellingTasks { _ = self.engine.schedule(after: .seconds(5), token: SessionTimer.disk.token) }
        self.finishDraining()
    }

    func finishDraining() {
        guard self.isDraining, self.records.isEmpty, !self.hasSleepers else { return }
        for done in self.drained { done() }
        self.drained = []
    }
}
