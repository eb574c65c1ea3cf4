internal import TidegateCore

/// A task's attempts so far, and the decision after the next failure.
struct RetryCounter: Sendable {
    /// The total number of charged attempts.
    private(set) var charged = 0
    /// The number of consecutive charged failures without progress.
    private(set) var inARow = 0
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
    mutating func restore(charged: Int, inARow: Int) {
        self.charged = charged
        self.inARow = inARow
    }

    mutating func charge(madeProgress: Bool) {
        self.charged += 1
        self.inARow = madeProgress ? 1 : self.inARow + 1
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
        guard self.inARow < limit else { return .stop(.limit) }
        var delay = Backoff.delay(afterFailure: self.inARow, policy: limits.policy, using: &generator)
        // If the server requests no wait, ours still applies.
        if let asked = limits.asked { delay = max(delay, RetryAfter.spread(asked, using: &generator)) }
        // A requested wait counts in full: the retry would come after the task's time.
        if let end = limits.policy.maxElapsed, limits.active + delay >= end { return .stop(.deadline) }
        if let left = limits.untilDeadline, delay >= left { return .stop(.deadline) }
        guard budget.pay(limits.price, at: now) else { return .stop(.budget) }
        self.paid = limits.price
        return .wait(delay)
    }
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
