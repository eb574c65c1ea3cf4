extension EventHistory {
    /// Where a reader is in the history's ring.
    struct Position {
        private var position: UInt64
        /// Up to here the past was requested: the reader may be behind by more than the bound.
        private let pastUntil: UInt64
        private let bound: Int
        private(set) var dropped: UInt64 = 0

        private static let batch: UInt64 = 64

        init(at position: UInt64, pastUntil: UInt64, bound: Int) {
            self.position = position
            self.pastUntil = pastUntil
            self.bound = max(1, bound)
        }

        mutating func take(from ring: HistoryRing) -> Batch {
            let start = self.firstKept(in: ring)
            let end = min(ring.end, start + Position.batch)
            let missed = start - self.position
            self.dropped += missed
            self.position = end
            return Batch(events: (start..<end).compactMap { ring[$0] }, dropped: missed)
        }

        func statistics(in ring: HistoryRing) -> SubscriberStatistics {
            let start = self.firstKept(in: ring)
            return SubscriberStatistics(
                queued: Int(ring.end - start), capacity: self.bound, dropped: self.dropped + (start - self.position))
        }

        // The newest win: what is over the bound goes with all that is before it, the past too.
        private func firstKept(in ring: HistoryRing) -> UInt64 {
            let waiting = ring.end - max(self.position, self.pastUntil)
            let isOver = waiting > UInt64(self.bound)
            return max(isOver ? ring.end - UInt64(self.bound) : self.position, ring.start)
        }
    }
}
