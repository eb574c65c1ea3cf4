internal import TidegateCore
internal import TidegateTransfer

/// Decides when an origin may be contacted again: retry budgets, circuits, and the waits that servers request.
///
/// It holds tasks for origins that fail, requested a pause or have no budget left, and releases the tasks in turn.
struct RetryController {
    /// What the end of an attempt shows about its origin.
    enum OriginHealth: Sendable, Hashable {
        case works, fails, unknown
    }

    let circuitPolicy: CircuitPolicy
    let budgetPolicy: RetryBudgetPolicy
    /// True if metrics show budgets, which are then also kept for origins that never failed.
    let countsBudgets: Bool
    let random: RandomSource
    private(set) var budgets = OriginTable<RetryBudget>()
    private(set) var circuits = OriginTable<Circuit>()
    /// The end of the pause that a server requested, by origin.
    private(set) var pausedUntil = OriginTable<MonotonicTime>()

    // MARK: - Retry-After

    /// The end of the origin's pause; nil if it may be contacted now.
    mutating func pauseEnd(of origin: Origin, at now: MonotonicTime) -> MonotonicTime? {
        guard !self.pausedUntil.isEmpty, let end = self.pausedUntil[origin] else { return nil }
        if end > now { return end }
        self.pausedUntil[origin] = nil
        return nil
    }

    /// Records that the origin requested a pause: all its tasks wait.
    mutating func pause(_ origin: Origin, until end: MonotonicTime, at now: MonotonicTime) {
        self.pausedUntil.forget { $0 <= now }
        self.pausedUntil[origin] = end
    }

    // MARK: - Budgets

    /// Decides whether to retry after a charged failure, and pays for the retry.
    mutating func next(
        _ counter: inout RetryCounter, _ limits: RetryCounter.Limits, of origin: Origin, at now: MonotonicTime
    ) -> RetryCounter.Answer {
        let random = self.random
        return self.withBudget(of: origin, at: now) { budget in
            random.draw { counter.next(limits, budget: &budget, at: now, using: &$0) }
        }
    }

    /// Records a success: the origin's budget grows, and the cost of the attempt is refunded.
    mutating func succeeded(_ origin: Origin, refunding price: RetryPrice?, at now: MonotonicTime) {
        // An origin without an entry has a full budget.
        guard self.countsBudgets || !self.budgets.isEmpty else { return }
        self.withBudget(of: origin, at: now) { $0.succeeded(refunding: price, at: now) }
    }

    /// Pays for a retry that waited for its origin's budget; false if the budget is still too small.
    mutating func pay(_ price: RetryPrice, of origin: Origin, at now: MonotonicTime) -> Bool {
        self.withBudget(of: origin, at: now) { $0.pay(price, at: now) }
    }

    /// How long until the budget covers a retry; at most a minute plus a random addition.
    mutating func timeToPay(_ price: RetryPrice, of origin: Origin, at now: MonotonicTime) -> Duration {
        let wait = self.withBudget(of: origin, at: now) { $0.timeToPay(price, at: now) }
        return max(.milliseconds(100), self.random.lengthened(min(wait, .seconds(60))))
    }

    /// The remaining tokens by host; the smallest number if a host has several ports.
    func tokens(at now: MonotonicTime) -> [String: Double] {
        guard self.countsBudgets else { return [:] }
        var tokens: [String: Double] = [:]
        for (origin, budget) in self.budgets.values {
            let host = origin.target.host
            tokens[host] = min(tokens[host] ?? .infinity, budget.tokens(at: now))
        }
        return tokens
    }

    private mutating func withBudget<Value>(
        of origin: Origin, at now: MonotonicTime, _ use: (inout RetryBudget) -> Value
    ) -> Value {
        self.budgets.forget { $0.isFull(at: now) }
        return self.budgets.use(origin, orFirst: RetryBudget(self.budgetPolicy, at: now), use)
    }

    // MARK: - Circuits

    /// Whether a task may contact the origin; a task that may not is remembered until ``leaveCircuit(_:of:)``.
    mutating func admit(_ task: UInt64, to origin: Origin, at now: MonotonicTime) -> Circuit.Pass {
        guard !self.circuits.isEmpty, self.circuits[origin] != nil else { return .through }
        // Changed in place: a copy would copy all waiting tasks.
        return self.circuits.use(origin, orFirst: Circuit()) { circuit in
            let pass = circuit.pass(task, at: now)
            guard case .wait(let until) = pass else { return pass }
            circuit.waiting.append(task)
            return .wait(until: circuit.waiting.count == 1 ? until : nil)
        }
    }

    /// Removes a task that no longer waits for the origin.
    mutating func leaveCircuit(_ task: UInt64, of origin: Origin) { self.circuits[origin]?.waiting.remove(task) }

    /// The task that has waited longest, and when it may check again; nil if none waits or a probe is in progress.
    func nextAtCircuit(of origin: Origin, at now: MonotonicTime) -> (task: UInt64, at: MonotonicTime)? {
        guard var trial = self.circuits[origin], let task = trial.waiting.first else { return nil }
        guard case .wait(let until) = trial.pass(task, at: now) else { return (task, now) }
        return until.map { (task, $0) }
    }

    /// Records a probe that ended without a result; true if this task was the probe, and the next one may go.
    mutating func probeLeft(_ task: UInt64, of origin: Origin, at now: MonotonicTime) -> Bool {
        self.circuits[origin]?.probeLeft(task, at: now) == true
    }

    /// Records that the origin answers; returns the tasks that waited for its circuit, or nil if that was closed.
    mutating func originWorks(_ origin: Origin) -> [UInt64]? {
        guard !self.circuits.isEmpty, var circuit = self.circuits[origin] else { return nil }
        let wasOpen = circuit.succeeded()
        let waiting = circuit.waiting.removeAll()
        self.circuits[origin] = circuit.isFresh ? nil : circuit
        return wasOpen ? waiting : nil
    }

    /// Records that the origin failed; returns how long its circuit is now open, or nil if it did not open.
    mutating func originFails(_ origin: Origin, _ task: UInt64, at now: MonotonicTime) -> Duration? {
        var circuit = self.circuits[origin] ?? Circuit()
        let spread = self.random.draw { Double.random(in: 0...1, using: &$0) }
        let pause = circuit.failed(task, self.circuitPolicy, at: now, spread: spread)
        self.circuits.forget { $0.isFresh }
        self.circuits[origin] = circuit
        return pause
    }

    /// What the end of an attempt shows about its origin.
    ///
    /// A lost path, an unresolved name or a fault of this host shows nothing about it.
    static func health(
        status: Int?, failure: TaskFailure?, kind: FailureClass, isProbe: Bool, pathIsLost: () -> Bool
    ) -> OriginHealth {
        if let status, failure == nil || kind == .status { return status >= 500 ? .fails : .works }
        switch kind {
        case .connect, .timeout, .tlsCutOff: return pathIsLost() ? .unknown : .fails
        case .transport: return !isProbe || pathIsLost() ? .unknown : .fails
        case .link, .dns, .tls, .status, .client, .local: return .unknown
        }
    }

    // MARK: - Tasks at origins

    /// True if the task must wait because its server requested a pause or failed too often.
    mutating func holds(_ record: TaskRecord, _ tasks: inout SessionTasks, at wall: WallTime) -> Bool {
        let (origin, now) = (record.origin, tasks.now)
        if let end = self.pauseEnd(of: origin, at: now) {
            record.clocks.schedule(.backoff, at: end)
            tasks.feed(.hold(.backoff, detail: "the server requested a pause"), to: record)
            return true
        }
        switch self.admit(record.number, to: origin, at: now) {
        case .through: return false
        case .asProbe:
            record.retry.probing = origin
            return false
        case .wait(let until):
            if let until { record.clocks.schedule(.circuit, at: until) }
            let end = until.map { "paused until \((wall + ($0 - now)).clockTime) UTC after repeated failures" }
            record.retry.waitsForCircuit = origin
            tasks.feed(.hold(.circuit, detail: end), to: record)
        }
        return true
    }

    /// Schedules the first task that waits for an origin: it tests the origin when the pause of the circuit ends.
    func nextAtCircuit(of origin: Origin, _ tasks: inout SessionTasks) {
        guard let next = self.nextAtCircuit(of: origin, at: tasks.now), let record = tasks[next.task] else { return }
        record.clocks.schedule(.circuit, at: next.at)
        tasks.updateTimer(record)
    }

    /// Removes a task that no longer waits for its origin.
    mutating func leaveCircuit(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let origin = record.retry.waitsForCircuit else { return }
        record.retry.waitsForCircuit = nil
        let hadTimer = record.clocks.isScheduled(.circuit)
        record.clocks.cancel(.circuit)
        self.leaveCircuit(record.number, of: origin)
        if hadTimer, record.machine.isOver { self.nextAtCircuit(of: origin, &tasks) }
    }

    /// Ends a task's test of its origin without a result.
    mutating func leaveProbe(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let origin = record.retry.probing else { return }
        record.retry.probing = nil
        guard self.probeLeft(record.number, of: origin, at: tasks.now) else { return }
        self.nextAtCircuit(of: origin, &tasks)
    }

    /// Evaluates what a response or failure shows about its origin.
    mutating func attemptEnded(
        _ end: AttemptEnd, _ record: TaskRecord, _ tasks: inout SessionTasks, saysNothing: () -> Bool
    ) {
        guard self.circuitPolicy.isEnabled else { return }
        let health = RetryController.health(
            status: end.status, failure: end.failure, kind: end.kind, isProbe: record.retry.probing != nil,
            pathIsLost: saysNothing)
        // A server that sends the next part of a body works, even if it never sends the whole rest at once.
        switch end.madeProgress(with: record.download.partial) ? .works : health {
        case .works: self.originWorks(record, &tasks)
        case .fails: self.originFails(record, &tasks)
        case .unknown: self.leaveProbe(record, &tasks)
        }
    }

    private mutating func originWorks(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        let origin = record.origin
        record.retry.probing = nil
        guard let waiting = self.originWorks(origin) else { return }
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
        guard let pause = self.originFails(origin, record.number, at: tasks.now) else { return }
        tasks.announce(.circuitOpened(origin: origin.description, pause: pause))
        self.nextAtCircuit(of: origin, &tasks)
    }

    // MARK: - Waiting for budgets

    /// Holds a task whose origin's budget is empty; the retry follows when it can be paid for.
    mutating func waitForBudget(_ record: TaskRecord, price: RetryPrice, _ tasks: inout SessionTasks) {
        record.retry.cost = price
        record.resetRedirects()
        self.scheduleBudget(record, price, &tasks)
        tasks.feed(.attemptHolds(.budget, detail: "the origin's retry budget is used up"), to: record)
    }

    /// Checks whether the budget has grown enough.
    mutating func budgetDue(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let price = record.retry.cost else { return tasks.feed(.release(.budget), to: record) }
        guard self.pay(price, of: record.origin, at: tasks.now) else {
            self.scheduleBudget(record, price, &tasks)
            return tasks.updateTimer(record)
        }
        record.retry.cost = nil
        record.retry.counter.paid = price
        tasks.feed(.release(.budget), to: record)
    }

    private mutating func scheduleBudget(_ record: TaskRecord, _ price: RetryPrice, _ tasks: inout SessionTasks) {
        let wait = self.timeToPay(price, of: record.origin, at: tasks.now)
        tasks.schedule(.budget, of: record, after: wait)
    }
}

/// Values by origin; drops meaningless ones each time it has doubled.
struct OriginTable<Value: Sendable>: Sendable {
    private let least: Int
    private(set) var values: [Origin: Value] = [:]
    private var room = 0

    /// Creates a table that is not searched below `least` values.
    init(least: Int = 1024) { self.least = least }

    var isEmpty: Bool { self.values.isEmpty }

    subscript(origin: Origin) -> Value? {
        get { self.values[origin] }
        set { self.values[origin] = newValue }
    }

    /// Passes the origin's value, or a first one, to a closure that changes it.
    mutating func use<Answer>(
        _ origin: Origin, orFirst first: @autoclosure () -> Value, _ change: (inout Value) -> Answer
    ) -> Answer { change(&self.values[origin, default: first()]) }

    /// Drops meaningless values; searches only if the table has doubled since the last time.
    mutating func forget(where isMeaningless: (Value) -> Bool) {
        guard self.values.count >= max(self.least, self.room) else { return }
        self.values = self.values.filter { !isMeaningless($0.value) }
        self.room = self.values.count * 2
    }
}
