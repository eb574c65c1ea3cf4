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

/// A bucket of tokens for each peer.
struct PeerBuckets: Sendable {
    /// The limit of each peer.
    let limit: RateLimit
    private var buckets: [PeerAddress: TokenBucket] = [:]

    // More peers at a time share one bucket: the table is bounded.
    static let maxPeers = 1024

    init(_ limit: RateLimit) { self.limit = limit }

    /// Takes a token of the peer's bucket.
    ///
    /// - Returns: nil if there was one, otherwise the time until there is.
    mutating func take(for peer: PeerAddress, at now: MonotonicTime) -> Duration? {
        if self.buckets[peer] == nil, self.buckets.count >= Self.maxPeers {
            self.buckets = self.buckets.filter { !$0.value.isFull(at: now) }
        }
        let isKnown = self.buckets[peer] != nil || self.buckets.count < Self.maxPeers
        return self.buckets[isKnown ? peer : PeerAddress(ip: nil), default: TokenBucket(self.limit, at: now)]
            .take(at: now)
    }
}
