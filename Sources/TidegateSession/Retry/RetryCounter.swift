internal import TidegateCore

/// A task's attempts so far, and the consequence of the next failure.
struct RetryCounter: Sendable {
    /// Charged attempts in all.
    private(set) var charged = 0
    /// Charged failures in a row without progress.
    private(set) var inARow = 0
    /// What the retry under way was paid with.
    var paid: RetryPrice?

    /// The bounds of the next attempt.
    struct Limits: Sendable {
        var policy: RetryPolicy
        var atMost: Int?
        var price: RetryPrice
        var asked: RetryAfter?
        /// How long the task was active.
        var active: Duration
        /// The time left until the deadline; nil without a deadline.
        var untilDeadline: Duration?
    }

    enum Answer: Sendable, Hashable {
        case wait(Duration)
        case stop(TaskEvent.ExhaustionReason)
    }

    /// An earlier process tried before.
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

    /// Decides about another attempt after a charged failure, and pays for it.
    mutating func next(
        _ limits: Limits, budget: inout RetryBudget, at now: MonotonicTime,
        using generator: inout some RandomNumberGenerator
    ) -> Answer {
        let limit = min(limits.policy.attempts, limits.atMost ?? .max)
        guard self.inARow < limit, limits.asked != .never else { return .stop(.limit) }
        var delay = Backoff.delay(afterFailure: self.inARow, policy: limits.policy, using: &generator)
        // A server that asks for no wait still gets ours.
        if case .wait(let asked) = limits.asked { delay = max(delay, RetryAfter.spread(asked, using: &generator)) }
        // A requested wait counts in full: it would end after the task's time.
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
    /// How often in a row this host itself refused to send.
    var linkFailures = 0
    /// The origin whose open circuit this task tests; nil for most.
    var probing: Origin?
    /// The origin whose open circuit this task waits for; nil for most.
    var waitsForCircuit: Origin?
    /// The open cost of the next attempt.
    var cost: RetryPrice?
}
