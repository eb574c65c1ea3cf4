internal import TidegateCore

/// Keeps tasks from origins that fail, asked not to be asked, or have no budget left: holds them, and releases them in
/// turn.
struct OriginGuard {
    let random: RandomSource
    /// Budgets, circuits and waits; also what retries are paid with.
    var controller: RetryController

    /// True if the task has to wait because its server asked for that, or failed too often.
    mutating func holds(_ record: TaskRecord, _ tasks: inout SessionTasks) -> Bool {
        let (origin, now) = (record.origin, tasks.now)
        if let end = self.controller.pauseEnd(of: origin, at: now) {
            record.clocks.schedule(.backoff, at: end)
            tasks.feed(.hold(.backoff, detail: "the server asked to be left alone"), to: record)
            return true
        }
        switch self.controller.admit(record.number, to: origin, at: now) {
        case .through: return false
        case .asProbe:
            record.retry.probing = origin
            return false
        case .wait(let until): if let until { record.clocks.schedule(.circuit, at: until) }
        }
        record.retry.waitsForCircuit = origin
        tasks.feed(.hold(.circuit, detail: "too many requests to the server failed"), to: record)
        return true
    }

    /// The circuit's pause is over: this task goes first.
    mutating func circuitDue(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        self.leaveCircuit(record, &tasks)
        tasks.feed(.release(.circuit), to: record)
    }

    /// The task has had its turn; if it does not test the origin, because it was suspended or is held by something
    /// else as well, the next one does.
    func circuitTurnTaken(_ record: TaskRecord, at origin: Origin, _ tasks: inout SessionTasks) {
        if record.retry.probing == nil { self.nextAtCircuit(of: origin, &tasks) }
    }

    private func nextAtCircuit(of origin: Origin, _ tasks: inout SessionTasks) {
        guard let next = self.controller.nextAtCircuit(of: origin, at: tasks.now),
            let record = tasks[next.task]
        else { return }
        record.clocks.schedule(.circuit, at: next.at)
        tasks.updateTimer(record)
    }

    /// The task does not wait for its origin any more.
    mutating func leaveCircuit(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let origin = record.retry.waitsForCircuit else { return }
        record.retry.waitsForCircuit = nil
        let hadTimer = record.clocks.isScheduled(.circuit)
        record.clocks.cancel(.circuit)
        self.controller.leaveCircuit(record.number, of: origin)
        if hadTimer, record.machine.isOver { self.nextAtCircuit(of: origin, &tasks) }
    }

    /// The task that tests an origin does not any more, and nothing has come of it.
    mutating func leaveProbe(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let origin = record.retry.probing else { return }
        record.retry.probing = nil
        guard self.controller.probeLeft(record.number, of: origin, at: tasks.now) else { return }
        self.nextAtCircuit(of: origin, &tasks)
    }

    /// An attempt has brought a response, or failed: what that says of its origin.
    mutating func attemptEnded(
        _ end: AttemptEnd, _ record: TaskRecord, _ tasks: inout SessionTasks, saysNothing: () -> Bool
    ) {
        guard self.controller.hasCircuits else { return }
        let health = RetryController.health(
            status: end.status, failure: end.failure, kind: end.kind, isProbe: record.retry.probing != nil,
            pathIsLost: saysNothing)
        switch health {
        case .works: self.originWorks(record, &tasks)
        case .fails: self.originFails(record, &tasks)
        case .unknown: self.leaveProbe(record, &tasks)
        }
    }

    private mutating func originWorks(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        let origin = record.origin
        record.retry.probing = nil
        guard let waiting = self.controller.originWorks(origin) else { return }
        tasks.announce(.circuitClosed(origin: origin.description))
        for (number, delay) in zip(waiting, self.random.staggeredDelays(waiting.count)) {
            guard let record = tasks[number] else { continue }
            record.retry.waitsForCircuit = nil
            record.clocks.cancel(.circuit)
            tasks.feed(.hold(.schedule, detail: "spread after failures of the server"), to: record)
            tasks.schedule(.schedule, of: record, after: delay)
            tasks.feed(.release(.circuit), to: record)
        }
    }

    private mutating func originFails(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        let origin = record.origin
        record.retry.probing = nil
        guard let pause = self.controller.originFails(origin, record.number, at: tasks.now) else { return }
        tasks.announce(.circuitOpened(origin: origin.description, pause: pause))
        self.nextAtCircuit(of: origin, &tasks)
    }

    // MARK: - Budgets

    /// The origin's budget is empty: the retry comes once it can be paid for.
    mutating func waitForBudget(_ record: TaskRecord, price: RetryPrice, _ tasks: inout SessionTasks) {
        record.retry.cost = price
        record.resetRedirects()
        self.scheduleBudget(record, price, &tasks)
        tasks.feed(.attemptHolds(.budget, detail: "the origin's retry budget is used up"), to: record)
    }

    /// The budget may have grown far enough.
    mutating func budgetDue(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let price = record.retry.cost else { return tasks.feed(.release(.budget), to: record) }
        guard self.controller.pay(price, of: record.origin, at: tasks.now) else {
            self.scheduleBudget(record, price, &tasks)
            return tasks.updateTimer(record)
        }
        record.retry.cost = nil
        record.retry.counter.paid(price)
        tasks.feed(.release(.budget), to: record)
    }

    private mutating func scheduleBudget(_ record: TaskRecord, _ price: RetryPrice, _ tasks: inout SessionTasks) {
        let wait = self.controller.timeToPay(price, of: record.origin, at: tasks.now)
        tasks.schedule(.budget, of: record, after: wait)
    }
}
