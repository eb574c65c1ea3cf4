internal import TidegateCore

/// A bucket of tokens, one for each request; one more falls in at every interval.
struct RateBucket: Sendable, Hashable {
    let limit: RateLimit
    // The moment from which on the bucket is full.
    private var full: MonotonicTime

    /// A full bucket.
    init(_ limit: RateLimit, at now: MonotonicTime) {
        self.limit = limit
        self.full = now
    }

    /// Takes a token.
    ///
    /// - Returns: nil where there was one, otherwise how long it takes until there is.
    mutating func take(at now: MonotonicTime) -> Duration? {
        let missing = max(self.full - now, .zero)
        let wait = missing + self.limit.interval - self.limit.interval * self.limit.burst
        guard wait <= .zero else { return wait }
        self.full = now + (missing + self.limit.interval)
        return nil
    }
}
