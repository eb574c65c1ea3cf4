package import TidegateCore

/// How often, and how fast, a task is retried.
public struct RetryPolicy: Sendable, Hashable, Codable {
    /// The maximum number of consecutive charged attempts without progress; 1 to 10,000.
    ///
    /// An attempt makes progress if it brings at least 16 KiB, or 0.1 % of a smaller body, with which the next attempt
    /// can continue. Such an attempt costs no budget, and at most 1,000 of them are allowed in a task. With 1, only
    /// an attempt that a lost path ended is followed by another.
    public var attempts: Int
    /// The upper bound of the first delay, longer than 0; it doubles with each further delay.
    public var base: Duration
    /// The maximum delay; not shorter than ``base``.
    public var cap: Duration
    /// The total time that the task may be active, not counting suspensions and holds; longer than 0, nil is no limit.
    public var maxElapsed: Duration?
    /// The response statuses to retry; each 300 to 599.
    public var statuses: Set<Int>

    /// A single attempt.
    public static let never = RetryPolicy(attempts: 1, maxElapsed: nil, statuses: [])

    /// Creates a policy; by default four attempts, and the statuses that are usually temporary.
    public init(
        attempts: Int = 4, base: Duration = .milliseconds(500), cap: Duration = .seconds(300),
        maxElapsed: Duration? = .seconds(3600), statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    ) {
        self.attempts = attempts
        self.base = base
        self.cap = cap
        self.maxElapsed = maxElapsed
        self.statuses = statuses
    }

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            (1...10_000).contains(self.attempts), "retry.attempts", "\(self.attempts) is not 1 to 10000")
        try ConfigurationValueError.check(self.base > .zero, "retry.base", "the delay must be longer than 0")
        try ConfigurationValueError.check(
            self.cap >= self.base, "retry.cap", "the longest delay must not be shorter than retry.base")
        try ConfigurationValueError.check(
            self.maxElapsed.map { $0 > .zero } ?? true, "retry.maxElapsed", "the time must be longer than 0")
        for status in self.statuses.sorted() {
            try ConfigurationValueError.check(
                (300...599).contains(status), "retry.statuses", "\(status) is not 300 to 599")
        }
    }
}

/// The retry budget of an origin: a bucket of tokens that successes and time refill.
///
/// Every number is finite and 0 or more.
public struct RetryBudgetPolicy: Sendable, Hashable {
    /// The capacity of the bucket, which starts full.
    public var tokens: Double
    /// The cost of a retry.
    public var retryCost: Double
    /// The cost of a retry if the server never received the request or requested a later one.
    public var connectCost: Double
    /// The tokens refilled per second.
    public var refillPerSecond: Double

    /// Creates a budget.
    public init(tokens: Double = 500, retryCost: Double = 14, connectCost: Double = 5, refillPerSecond: Double = 1) {
        self.tokens = tokens
        self.retryCost = retryCost
        self.connectCost = connectCost
        self.refillPerSecond = refillPerSecond
    }

    package func validate() throws(ConfigurationValueError) {
        let properties = [
            ("budget.tokens", self.tokens), ("budget.retryCost", self.retryCost),
            ("budget.connectCost", self.connectCost), ("budget.refillPerSecond", self.refillPerSecond),
        ]
        for (property, value) in properties {
            try ConfigurationValueError.check(value.isFinite && value >= 0, property, "\(value) is not 0 or more")
        }
    }
}

/// When the circuit of a failing origin opens, and for how long.
public struct CircuitPolicy: Sendable, Hashable {
    /// The number of consecutive failures that open the circuit; 1 to 10,000.
    public var failures = 5
    /// How long the circuit stays open the first time, longer than 0; twice as long the second time in a row, three
    /// times as long the third time.
    public var pause = Duration.seconds(30)
    /// The longest time it stays open; not shorter than ``pause``.
    public var cap = Duration.seconds(300)
    /// False if the circuit never opens.
    public var isEnabled = true

    /// A policy with which the circuit never opens.
    public static let never: CircuitPolicy = {
        var policy = CircuitPolicy()
        policy.isEnabled = false
        return policy
    }()

    /// Creates the default policy.
    public init() {}

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            (1...10_000).contains(self.failures), "circuit.failures", "\(self.failures) is not 1 to 10000")
        try ConfigurationValueError.check(self.pause > .zero, "circuit.pause", "the time must be longer than 0")
        try ConfigurationValueError.check(
            self.cap >= self.pause, "circuit.cap", "the longest time must not be shorter than circuit.pause")
    }
}
