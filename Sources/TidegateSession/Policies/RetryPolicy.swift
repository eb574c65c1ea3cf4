/// How often, and how fast, a task is retried.
public struct RetryPolicy: Sendable, Hashable, Codable {
    /// How many charged attempts without progress there are at most; 1 and up.
    public let attempts: Int
    /// The longest first delay; each further one may be twice as long.
    public let base: Duration
    /// The longest delay of all.
    public let cap: Duration
    /// How long the task may be active in all, suspensions and holds not counted; nil is no limit.
    public let maxElapsed: Duration?
    /// The response statuses that are tried again.
    public let statuses: Set<Int>

    /// Four attempts, 500 ms doubling to 5 min, an hour in all, the statuses that are usually temporary.
    public static let standard = RetryPolicy(
        unchecked: 4, base: .milliseconds(500), cap: .seconds(300), maxElapsed: .seconds(3600),
        statuses: [408, 425, 429, 500, 502, 503, 504])

    /// One attempt and no more.
    public static let never = RetryPolicy(
        unchecked: 1, base: .milliseconds(500), cap: .seconds(300), maxElapsed: nil, statuses: [])

    /// A policy; what is left out is as in ``standard``.
    ///
    /// - Throws: ``PolicyError`` if a number is below 1, a duration not positive or a status not 300 to 599.
    public init(
        attempts: Int = 4, base: Duration = .milliseconds(500), cap: Duration = .seconds(300),
        maxElapsed: Duration? = .seconds(3600), statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    ) throws(PolicyError) {
        try PolicyError.check((1...10_000).contains(attempts), "retry.attempts", "\(attempts) is not 1 to 10000")
        try PolicyError.check(base > .zero, "retry.base", "the delay must be longer than 0")
        try PolicyError.check(cap >= base, "retry.cap", "the longest delay must not be shorter than retry.base")
        try PolicyError.check(
            maxElapsed.map { $0 > .zero } ?? true, "retry.max_elapsed", "the time must be longer than 0")
        for status in statuses.sorted() {
            try PolicyError.check((300...599).contains(status), "retry.statuses", "\(status) is not 300 to 599")
        }
        self.init(unchecked: attempts, base: base, cap: cap, maxElapsed: maxElapsed, statuses: statuses)
    }

    /// Reads a policy as it was encoded; throws if this version would not accept it.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            attempts: members.decode(Int.self, forKey: .attempts), base: members.decode(Duration.self, forKey: .base),
            cap: members.decode(Duration.self, forKey: .cap),
            maxElapsed: members.decodeIfPresent(Duration.self, forKey: .maxElapsed),
            statuses: members.decode(Set<Int>.self, forKey: .statuses))
    }

    private init(unchecked attempts: Int, base: Duration, cap: Duration, maxElapsed: Duration?, statuses: Set<Int>) {
        self.attempts = attempts
        self.base = base
        self.cap = cap
        self.maxElapsed = maxElapsed
        self.statuses = statuses
    }
}
