internal import TidegateCore
internal import TidegateTransfer

/// Sets the timers of the tasks' clocks: one for each task that lives long enough.
///
/// Most tasks are over long before any of their clocks is due, so that a timer is only noted at first; those that are
/// still there after a moment get one.
struct TaskTimers {
    private static let interval = Duration.milliseconds(500)

    private let timers: any TimerQueue
    private var pending: [UInt64] = []

    init(_ timers: any TimerQueue) { self.timers = timers }

    /// Lets the task's timer follow its clocks.
    mutating func update(_ record: TaskRecord, at now: MonotonicTime) {
        let due = record.machine.isOver ? nil : record.clocks.nextDue
        // A timer that fires too early only looks again; one that moves with every byte would cost more.
        if let old = record.upkeep.timer.due, let due, old <= due { return }
        self.cancel(record)
        guard let due else { return }
        guard due - now > TaskTimers.interval else { return self.set(record, at: due) }
        record.upkeep.timer = .pending(due: due)
        if self.pending.isEmpty {
            _ = self.timers.schedule(after: TaskTimers.interval, token: SessionTimer.pendingTimers.token)
        }
        self.pending.append(record.number)
    }

    func cancel(_ record: TaskRecord) {
        if case .set(let timer, _) = record.upkeep.timer { self.timers.cancel(timer) }
        record.upkeep.timer = .off
    }

    /// Sets the timers of the tasks that are still there.
    mutating func setPending(_ table: TaskTable) {
        for number in self.pending {
            guard let record = table[number], case .pending(let due) = record.upkeep.timer else { continue }
            self.set(record, at: due)
        }
        self.pending.removeAll(keepingCapacity: self.pending.count <= 4096)
    }

    private func set(_ record: TaskRecord, at due: MonotonicTime) {
        let timer = self.timers.schedule(at: due, token: SessionTimer.task(record.number).token)
        record.upkeep.timer = .set(timer, due: due)
    }
}
