internal import TidegateCore
internal import TidegateTransfer

/// Keeps tasks from origins that fail, asked not to be asked, or have no budget left: holds them, and releases them in
/// turn.
final class OriginGuard {
    private let driver: TaskDriver
    private let table: TaskTable
    private let failures: FailureReporter
    private let journal: JournalWriter
    private let random: RandomSource
    /// Budgets, circuits and waits; also what retries are paid with.
    var controller: RetryController

    init(
        driver: TaskDriver, table: TaskTable, failures: FailureReporter, journal: JournalWriter,
        controller: RetryController, random: RandomSource
    ) {
        self.driver = driver
        self.table = table
        self.failures = failures
        self.journal = journal
        self.controller = controller
        self.random = random
    }

    /// True if the task has to wait because its server asked for that, or failed too often.
    func holds(_ record: TaskRecord) -> Bool {
        let (origin, now) = (record.origin, self.driver.now)
        if let end = self.controller.pauseEnd(of: origin, at: now) {
            record.clocks.schedule(.backoff, at: end)
            self.driver.feed(.hold(.backoff, detail: "the server asked to be left alone"), to: record)
            return true
        }
        switch self.controller.admit(record.number, to: origin, at: now) {
        case .admitted: return false
        case .admittedAsProbe:
            record.retry.probing = origin
            return false
        case .waits(let until): if let until { record.clocks.schedule(.circuit, at: until) }
        }
        record.retry.waitsForCircuit = origin
        self.driver.feed(.hold(.circuit, detail: "too many requests to the server failed"), to: record)
        return true
    }

    /// The circuit's pause is over: this task goes first, or else the next one.
    func circuitDue(_ record: TaskRecord) {
        guard let origin = record.retry.waitsForCircuit else { return }
        self.leaveCircuit(record)
        self.driver.feed(.release(.circuit), to: record)
        self.driver.drain()
        // Suspended, or held by something else as well.
        if record.retry.probing == nil { self.nextAtCircuit(of: origin) }
    }

    private func nextAtCircuit(of origin: Origin) {
        guard let next = self.controller.nextAtCircuit(of: origin, at: self.driver.now),
            let record = self.table[next.task]
        else { return }
        record.clocks.schedule(.circuit, at: next.at)
        self.driver.timers.update(record, at: self.driver.now)
    }

    /// The task does not wait for its origin any more.
    func leaveCircuit(_ record: TaskRecord) {
        guard let origin = record.retry.waitsForCircuit else { return }
        record.retry.waitsForCircuit = nil
        let hadTimer = record.clocks.isScheduled(.circuit)
        record.clocks.cancel(.circuit)
        self.controller.leaveCircuit(record.number, of: origin)
        if hadTimer, record.machine.isOver { self.nextAtCircuit(of: origin) }
    }

    /// The task that tests an origin does not any more, and nothing has come of it.
    func leaveProbe(_ record: TaskRecord) {
        guard let origin = record.retry.probing else { return }
        record.retry.probing = nil
        guard self.controller.probeLeft(record.number, of: origin, at: self.driver.now) else { return }
        self.nextAtCircuit(of: origin)
    }

    /// An attempt has brought a response, or failed: what that says of its origin.
    func attemptEnded(_ end: AttemptEnd, _ record: TaskRecord) {
        guard self.controller.hasCircuits else { return }
        let health = RetryController.health(
            status: end.status, failure: end.failure, kind: end.kind, isProbe: record.retry.probing != nil
        ) { self.failures.pathIsLost(record, end.live) || self.failures.isSilencedByOutage(end, record) }
        switch health {
        case .works: self.originWorks(record)
        case .fails: self.originFails(record)
        case .unknown: self.leaveProbe(record)
        }
    }

    private func originWorks(_ record: TaskRecord) {
        let origin = record.origin
        record.retry.probing = nil
        guard let waiting = self.controller.originWorks(origin) else { return }
        self.driver.publisher.publish(.circuitClosed(origin: origin.description))
        for (number, delay) in zip(waiting, self.random.staggeredDelays(waiting.count)) {
            guard let record = self.table[number] else { continue }
            record.retry.waitsForCircuit = nil
            record.clocks.cancel(.circuit)
            self.driver.feed(.hold(.schedule, detail: "spread after failures of the server"), to: record)
            self.driver.schedule(.schedule, of: record, after: delay)
            self.driver.feed(.release(.circuit), to: record)
        }
    }

    private func originFails(_ record: TaskRecord) {
        let origin = record.origin
        record.retry.probing = nil
        guard let pause = self.controller.originFails(origin, record.number, at: self.driver.now) else { return }
        self.driver.publisher.publish(.circuitOpened(origin: origin.description, pause: pause))
        self.nextAtCircuit(of: origin)
    }

    // MARK: - Budgets

    /// The origin's budget is empty: the retry comes once it can be paid for.
    func waitForBudget(_ record: TaskRecord, price: RetryPrice) {
        record.retry.cost = price
        self.noteAttempt(record)
        record.resetRedirects()
        self.scheduleBudget(record, price)
        self.driver.feed(.attemptHolds(.budget, detail: "the origin's retry budget is used up"), to: record)
    }

    /// Writes down what an accepted task has used up of its retries.
    func noteAttempt(_ record: TaskRecord) { self.journal.noteAttempt(record, at: self.driver.now) }

    /// The budget may have grown far enough.
    func budgetDue(_ record: TaskRecord) {
        guard let price = record.retry.cost else { return self.driver.feed(.release(.budget), to: record) }
        guard self.controller.pay(price, of: record.origin, at: self.driver.now) else {
            self.scheduleBudget(record, price)
            return self.driver.timers.update(record, at: self.driver.now)
        }
        record.retry.cost = nil
        record.retry.counter.paid(price)
        self.driver.feed(.release(.budget), to: record)
    }

    private func scheduleBudget(_ record: TaskRecord, _ price: RetryPrice) {
        let wait = self.controller.timeToPay(price, of: record.origin, at: self.driver.now)
        self.driver.schedule(.budget, of: record, after: wait)
    }
}
