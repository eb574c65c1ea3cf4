internal import TidegateCore
internal import TidegateTransfer

/// The session's tasks: their records, and what follows from what happens to them.
///
/// A machine changes at once; what follows from that waits in line, and what is to be done outside waits until the
/// state is complete.
struct SessionTasks: ~Copyable {
    var table: TaskTable
    /// The moment at which the current batch began.
    private(set) var now = MonotonicTime(nanoseconds: 0)
    private var effects = EffectQueue()
    /// What machines have decided and is still to be carried out, in order.
    private var steps = ReusedQueue<(record: TaskRecord, effect: TaskMachine.Effect)>()
    private var decided = ReusedQueue<TaskMachine.Effect>()
    private var touched = ReusedQueue<TaskRecord>()
    private var calls: [@Sendable () -> Void] = []
    private var timers: TaskTimers

    init(_ table: TaskTable, timers: any TimerQueue) {
        self.table = table
        self.timers = TaskTimers(timers)
    }

    subscript(number: UInt64) -> TaskRecord? { self.table[number] }

    // MARK: - Inputs

    /// An input begins: its effects join those in `effects`.
    mutating func begin(at now: MonotonicTime, _ effects: inout EffectQueue) {
        self.now = now
        swap(&effects, &self.effects)
    }

    /// The input's effects are complete.
    mutating func end(_ effects: inout EffectQueue) { swap(&effects, &self.effects) }

    /// Gives a task's machine an input.
    mutating func feed(_ input: TaskMachine.Input, to record: TaskRecord) {
        record.machine.handle(input, at: self.now, &self.decided)
        while let effect = self.decided.takeFirst() { self.steps.append((record, effect)) }
        self.touch(record)
    }

    /// The next thing that a machine has decided; nil once everything is carried out.
    mutating func takeStep() -> (record: TaskRecord, effect: TaskMachine.Effect)? { self.steps.takeFirst() }

    // MARK: - What follows

    mutating func announce(_ event: SessionEvent) { self.effects.announce(event) }

    /// Calls back once everything that follows is done and shown.
    mutating func call(_ function: @escaping @Sendable () -> Void) { self.calls.append(function) }

    mutating func add(_ effect: consuming SessionEffect) { self.effects.add(effect) }

    mutating func publish(_ change: consuming TaskEvent.Kind, _ record: TaskRecord) {
        self.effects.publish(change, of: record.task)
    }

    /// The task's clocks and what is shown of it follow once everything is carried out.
    mutating func touch(_ record: TaskRecord) {
        guard !record.upkeep.isDue else { return }
        record.upkeep.isDue = true
        self.touched.append(record)
    }

    /// Lets the clocks of the tasks that were touched follow, and shows what has changed.
    mutating func settle() {
        while let record = self.touched.takeFirst() {
            record.upkeep.isDue = false
            guard !record.machine.isOver else { continue }
            record.clocks.follow(record.clockInputs, at: self.now)
            self.timers.update(record, at: self.now)
            self.effects.add(.show(record))
        }
        guard !self.calls.isEmpty else { return }
        for call in self.calls { self.effects.add(.call(call)) }
        self.calls = []
    }

    // MARK: - Clocks

    func schedule(_ clock: TaskClocks.Clock, of record: TaskRecord, after delay: Duration) {
        record.clocks.schedule(clock, at: self.now + delay)
    }

    /// Lets the task's timer follow its clocks.
    mutating func updateTimer(_ record: TaskRecord) { self.timers.update(record, at: self.now) }

    mutating func cancelTimer(_ record: TaskRecord) { self.timers.cancel(record) }

    /// Sets the timers of the tasks that have lived long enough for one.
    mutating func setPendingTimers() { self.timers.setPending(self.table) }
}
