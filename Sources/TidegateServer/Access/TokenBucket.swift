internal import TidegateCore

/// A bucket of tokens, one for each request, to which one is added per interval.
struct TokenBucket: Sendable, Hashable {
    let limit: RateLimit
    // When the bucket is full again.
    private var fullAt: MonotonicTime

    /// A full bucket.
    init(_ limit: RateLimit, at now: MonotonicTime) {
        self.limit = limit
        self.fullAt = now
    }

    /// True if nothing is missing.
    func isFull(at now: MonotonicTime) -> Bool { self.fullAt <= now }

    /// Takes a token.
    ///
    /// - Returns: nil if there was one, otherwise the time until there is.
    mutating func take(at now: MonotonicTime) -> Duration? {
        let missing = max(self.fullAt - now, .zero)
        let wait = missing + self.limit.interval - self.limit.interval * self.limit.burst
        guard wait <= .zero else { return wait }
        self.fullAt = now + (missing + self.limit.interval)
        return nil
    }
}
