internal import TidegateCore

/// How many messages the last second brought, to a twentieth of a second.
struct MessageRate: Hashable {
    private static let slotsPerSecond: UInt64 = 20

    private let limit: Int
    private var counts = [Int](repeating: 0, count: Int(slotsPerSecond))
    private var newest: UInt64 = 0
    private var total = 0
    private var highSince: MonotonicTime?

    /// `limit` is how many messages a second are many.
    init(limit: Int) { self.limit = limit }

    /// Counts messages in; for how long every second has brought many, nil where the last one did not.
    mutating func add(_ count: Int, at now: MonotonicTime) -> Duration? {
        self.advance(to: now)
        // Between two calls the second only empties; what is left now is the least that it ever held.
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
