internal import TidegateCore

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
