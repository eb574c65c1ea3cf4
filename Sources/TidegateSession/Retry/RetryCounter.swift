internal import TidegateCore

/// A task's attempts so far, and the decision after the next failure.
struct RetryCounter: Sendable {
    /// The total number of charged attempts.
    private(set) var charged = 0
    /// The number of consecutive charged failures without progress; 0 after an attempt that made some.
    private(set) var inARow = 0
    /// The number of failed attempts that made progress; the limit does not count them.
    private(set) var free = 0
    /// A server that ends each response after a few bytes must not keep a task busy without end.
    static let mostFree = 1000
    /// The price paid for the current retry.
    var paid: RetryPrice?

    /// The limits of the next attempt.
    struct Limits: Sendable {
        var policy: RetryPolicy
        var atMost: Int?
        var price: RetryPrice
        /// The wait that the server requested; nil if it requested none.
        var asked: Duration?
        /// How long the task was active.
        var active: Duration
        /// The time left until the deadline; nil if none exists.
        var untilDeadline: Duration?
    }

    enum Answer: Sendable, Hashable {
        case wait(Duration)
        case stop(TaskEvent.ExhaustionReason)
    }

    /// Adopts the counts of an earlier process.
    mutating func restore(_ progress: RetryProgress?) {
        guard let progress else { return }
        (self.charged, self.inARow, self.free) = (progress.charged, progress.inARow, progress.free ?? 0)
    }

    mutating func charge(madeProgress: Bool) {
        self.charged += 1
        self.inARow = madeProgress ? 0 : self.inARow + 1
        if madeProgress { self.free += 1 }
    }

    mutating func succeeded() {
        self.charged += 1
        self.inARow = 0
    }

    /// Decides whether to retry after a charged failure, and pays for the retry.
    mutating func next(
        _ limits: Limits, budget: inout RetryBudget, at now: MonotonicTime,
        using generator: inout some RandomNumberGenerator
    ) -> Answer {
        let limit = min(limits.policy.attempts, limits.atMost ?? .max)
        // A task limited to a single attempt is not retried, whatever that attempt brought.
        guard max(1, self.inARow) < limit, !self.hasUsedFreeAttempts else { return .stop(.limit) }
        var delay = Backoff.delay(afterFailure: self.inARow, policy: limits.policy, using: &generator)
        // If the server requests no wait, ours still applies.
        if let asked = limits.asked { delay = max(delay, RetryAfter.spread(asked, using: &generator)) }
        // A requested wait counts in full: the retry would come after the task's time.
        if let end = limits.policy.maxElapsed, limits.active + delay >= end { return .stop(.deadline) }
        if let left = limits.untilDeadline, delay >= left { return .stop(.deadline) }
        let price = self.inARow == 0 ? .free : limits.price
        guard budget.pay(price, at: now) else { return .stop(.budget) }
        self.paid = price
        return .wait(delay)
    }

    /// True if more failed attempts made progress than a task may have.
    var hasUsedFreeAttempts: Bool { self.free > RetryCounter.mostFree }
}

/// The retry controller's state of each task.
struct RetryState {
    var counter = RetryCounter()
    /// The number of consecutive refusals to send by this host itself.
    var linkFailures = 0
    /// The origin whose open circuit this task tests; nil for most.
    var probing: Origin?
    /// The origin whose open circuit this task waits for; nil for most.
    var waitsForCircuit: Origin?
    /// The price that the next attempt must still pay.
    var cost: RetryPrice?
}
