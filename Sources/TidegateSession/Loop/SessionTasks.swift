internal import TidegateCore
internal import TidegateTransfer

/// The session's tasks: their records, and the consequences of their inputs.
///
/// Each live task has a record; a task that was created and never resumed is parked, and exists only as its handle in
/// the registry. A machine changes immediately; the consequences are queued, and work outside waits until the state is
/// complete.
struct SessionTasks: ~Copyable {
    /// Most tasks end long before any of their clocks is due.
    ///
    /// A timer is therefore only noted at first; tasks that still exist after this time get one.
    private static let timerDelay = Duration.milliseconds(500)

    let registry: TaskRegistry
    private let configuration: SessionConfiguration
    private let timers: any TimerQueue
    /// The start of the current batch.
    private(set) var now = MonotonicTime(nanoseconds: 0)
    private var records: [UInt64: TaskRecord] = [:]
    /// The accepted tasks among the records.
    private var accepted: [TaskID: UInt64] = [:]
    /// Consecutive tasks often come from one request.
    private var latestPolicies: (request: TaskRequest, policies: ResolvedPolicies)?
    /// The task whose attempt reported last, which usually has more reports.
    private var lastReporting: TaskRecord?
    private var effects = EffectQueue()
    /// Pending decisions of the machines, in order.
    private var steps = ReusedQueue<(record: TaskRecord, effect: TaskMachine.Effect)>()
    private var decided = ReusedQueue<TaskMachine.Effect>()
    private var touched = ReusedQueue<TaskRecord>()
    private var calls: [@Sendable () -> Void] = []
    /// The tasks with noted timers.
    private var pendingTimers: [UInt64] = []

    init(_ registry: TaskRegistry, _ configuration: SessionConfiguration, timers: any TimerQueue) {
        self.registry = registry
        self.configuration = configuration
        self.timers = timers
    }

    // MARK: - Records

    /// True if no task is left, including parked ones.
    var isEmpty: Bool { self.records.isEmpty && self.registry.isEmpty }

    subscript(number: UInt64) -> TaskRecord? { self.records[number] }

    /// A task's record, created if the task was parked; nil if it has ended.
    mutating func record(of task: TransferTask) -> TaskRecord? {
        if let record = self.records[task.number] { return record }
        guard self.registry.isLive(task) else { return nil }
        let record = TaskRecord(task, self.policies(of: task.request))
        self.records[task.number] = record
        if record.journal != nil { self.accepted[task.id] = task.number }
        return record
    }

    /// The task of a running attempt; nil if the attempt has ended.
    mutating func record(of attempt: AttemptID) -> TaskRecord? {
        if let last = self.lastReporting, last.live?.id == attempt { return last }
        guard let record = self.records[attempt.task], record.live?.id == attempt else { return nil }
        self.lastReporting = record
        return record
    }

    /// The record of an accepted task; nil if the task has ended.
    func record(accepted id: TaskID) -> TaskRecord? { self.accepted[id].flatMap { self.records[$0] } }

    private mutating func policies(of request: TaskRequest) -> ResolvedPolicies {
        if let latest = self.latestPolicies, latest.request.isSame(as: request) { return latest.policies }
        let policies = ResolvedPolicies(request, self.configuration)
        self.latestPolicies = (request, policies)
        return policies
    }

    mutating func remove(_ record: TaskRecord) {
        self.records[record.number] = nil
        if record.journal != nil { self.accepted[record.task.id] = nil }
        if self.lastReporting === record { self.lastReporting = nil }
    }

    /// The live tasks in the order of creation.
    var all: [TaskRecord] { self.records.values.sorted { $0.number < $1.number } }

    /// Every task in the order of cancellation: parked ones first, and those with a connection last, because a
    /// connection returned earlier would only start the next task.
    mutating func inOrderOfCancellation() -> [TaskRecord] {
        let live = self.records.values.sorted {
            ($0.attempt.hasConnection ? 1 : 0, $0.number) < ($1.attempt.hasConnection ? 1 : 0, $1.number)
        }
        var parked: [TaskRecord] = []
        for task in self.registry.live.sorted(by: { $0.number < $1.number }) where self.records[task.number] == nil {
            if let record = self.record(of: task) { parked.append(record) }
        }
        return parked + live
    }

    // MARK: - Inputs

    /// Starts an input: its effects join those in `effects`.
    mutating func begin(at now: MonotonicTime, _ effects: inout EffectQueue) {
        self.now = now
        swap(&effects, &self.effects)
    }

    /// Ends an input and returns its effects.
    mutating func end(_ effects: inout EffectQueue) { swap(&effects, &self.effects) }

    /// Gives a task's machine an input.
    mutating func feed(_ input: TaskMachine.Input, to record: TaskRecord) {
        record.machine.handle(input, at: self.now, &self.decided)
        while let effect = self.decided.takeFirst() { self.steps.append((record, effect)) }
        self.touch(record)
    }

    /// The next decision of a machine; nil if all have been executed.
    mutating func takeStep() -> (record: TaskRecord, effect: TaskMachine.Effect)? { self.steps.takeFirst() }

    // MARK: - Consequences

    mutating func announce(_ event: SessionEvent) { self.effects.announce(event) }

    /// Calls back when all consequences are complete and visible.
    mutating func call(_ function: @escaping @Sendable () -> Void) { self.calls.append(function) }

    mutating func add(_ effect: consuming SessionEffect) { self.effects.add(effect) }

    mutating func publish(_ change: consuming TaskEvent.Kind, _ record: TaskRecord) {
        self.effects.publish(change, of: record.task)
    }

    /// Updates the task's clocks and visible state when everything has been executed.
    mutating func touch(_ record: TaskRecord) {
        guard !record.isTouched else { return }
        record.isTouched = true
        self.touched.append(record)
    }

    /// Updates the clocks of the touched tasks, and shows the changes.
    mutating func settle() {
        while let record = self.touched.takeFirst() {
            record.isTouched = false
            guard !record.machine.isOver else { continue }
            record.clocks.follow(record.clockInputs, at: self.now)
            self.updateTimer(record)
            self.effects.add(.show(record))
        }
        guard !self.calls.isEmpty else { return }
        for call in self.calls { self.effects.add(.call(call)) }
        self.calls = []
    }

    // MARK: - The disk

    /// Passes work to the disk's thread; the task receives its report, or `refusal` if the thread is stopping.
    mutating func perform(
        for task: UInt64? = nil, refusal: DiskEvent = .refused, _ work: @escaping @Sendable () -> DiskEvent?
    ) {
        self.add(.disk(DiskJob(task: task, refusal: refusal, work: work)))
    }

    /// Makes a file's bytes durable, then calls `done`, which may promise them to a later process.
    mutating func synchronize(_ file: DownloadFile, then done: @escaping @Sendable () throws(FileError) -> Void) {
        self.perform {
            // Bytes come first: the record never promises more than the disk has.
            if (try? file.synchronize()) != nil { try? done() }
            return nil
        }
    }

    // MARK: - Clocks

    func schedule(_ clock: TaskClocks.Clock, of record: TaskRecord, after delay: Duration) {
        record.clocks.schedule(clock, at: self.now + delay)
    }

    /// Updates the task's timer from its clocks.
    mutating func updateTimer(_ record: TaskRecord) {
        let due = record.machine.isOver ? nil : record.clocks.nextDue()
        // A timer that fires too early only checks again; moving it with every byte would cost more.
        if let old = record.timer.due, let due, old <= due { return }
        self.cancelTimer(record)
        guard let due else { return }
        guard due - self.now > SessionTasks.timerDelay else { return self.setTimer(record, at: due) }
        record.timer = .pending(due: due)
        if self.pendingTimers.isEmpty {
            _ = self.timers.schedule(after: SessionTasks.timerDelay, token: SessionTimer.pendingTimers.token)
        }
        self.pendingTimers.append(record.number)
    }

    func cancelTimer(_ record: TaskRecord) {
        if case .set(let timer, _) = record.timer { self.timers.cancel(timer) }
        record.timer = .off
    }

    /// Sets the timers of the tasks that have lived long enough to need one.
    mutating func setPendingTimers() {
        for number in self.pendingTimers {
            guard let record = self[number], case .pending(let due) = record.timer else { continue }
            self.setTimer(record, at: due)
        }
        self.pendingTimers.removeAll(keepingCapacity: self.pendingTimers.count <= 4096)
    }

    private func setTimer(_ record: TaskRecord, at due: MonotonicTime) {
        let timer = self.timers.schedule(at: due, token: SessionTimer.task(record.number).token)
        record.timer = .set(timer, due: due)
    }
}
