internal import TidegateCore

/// The number of messages within the last second, with a resolution of 50 ms.
struct MessageRate: Hashable {
    private static let slotsPerSecond: UInt64 = 20

    private let limit: Int
    private var counts = [Int](repeating: 0, count: Int(slotsPerSecond))
    private var newest: UInt64 = 0
    private var total = 0
    private var highSince: MonotonicTime?

    /// `limit` is the number of messages per second that counts as high.
    init(limit: Int) { self.limit = limit }

    /// Counts messages; returns for how long the rate has been high, nil if it is not.
    mutating func add(_ count: Int, at now: MonotonicTime) -> Duration? {
        self.advance(to: now)
        // Between two calls messages only leave the window, so the count now is the lowest since the last call.
        if self.total < self.limit { self.highSince = nil }
        self.counts[self.place(self.newest)] += count
        self.total += count
        if self.total >= self.limit, self.highSince == nil { self.highSince = now }
        return self.highSince.map { now - $0 }
    }

    private mutating func advance(to now: MonotonicTime) {
        let slot = now.nanoseconds / (1_000_000_000 / MessageRate.slotsPerSecond)
        guard slot > self.newest else { return }
        for passed in 1...min(slot - self.newest, MessageRate.slotsPerSecond) {
            self.total -= self.counts[self.place(self.newest &+ passed)]
            self.counts[self.place(self.newest &+ passed)] = 0
        }
        self.newest = slot
    }

    private func place(_ slot: UInt64) -> Int { Int(slot % MessageRate.slotsPerSecond) }
}
