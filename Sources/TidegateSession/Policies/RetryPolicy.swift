package import TidegateCore

/// How often, and how fast, a task is retried.
public struct RetryPolicy: Sendable, Hashable, Codable {
    /// How many charged attempts without progress there are at most; 1 to 10,000.
    public var attempts: Int
    /// The longest first delay, longer than 0; each further one may be twice as long.
    public var base: Duration
    /// The longest delay of all; not shorter than ``base``.
    public var cap: Duration
    /// How long the task may be active in all, suspensions and holds not counted; longer than 0, nil is no limit.
    public var maxElapsed: Duration?
    /// The response statuses that are tried again; each 300 to 599.
    public var statuses: Set<Int>

    /// One attempt and no more.
    public static let never = RetryPolicy(attempts: 1, maxElapsed: nil, statuses: [])

    /// A policy; by default four attempts, and of the statuses those that are usually temporary.
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
