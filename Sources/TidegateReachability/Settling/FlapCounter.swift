internal import TidegateCore

/// Counts carrier losses; a link that lost it three times in half a minute has to prove itself.
struct FlapCounter {
    private struct Life: Hashable {
        let index: UInt32
        let generation: UInt32
    }

    private struct Record {
        var losses: [MonotonicTime] = []
        var counter: UInt32?
        var hadCarrier: Bool
    }

    private static let window = Duration.seconds(30)
    private static let limit = 3

    private var records: [Life: Record] = [:]

    /// Takes the links' present state in.
    mutating func observe(_ links: some Sequence<Link>, at now: MonotonicTime) {
        var next: [Life: Record] = [:]
        for link in links {
            let life = Life(index: link.index, generation: link.generation)
            var record = self.records[life] ?? Record(counter: link.carrierLosses, hadCarrier: link.hasCarrier)
            // The kernel merges fast flaps into few messages; only its counter has them all.
            let count =
                if let counter = link.carrierLosses, let before = record.counter {
                    Int(min(counter &- before, UInt32(FlapCounter.limit)))
                } else {
                    record.hadCarrier && !link.hasCarrier ? 1 : 0
                }
            record.losses = record.losses.filter { now - $0 < FlapCounter.window }
            record.losses = (record.losses + Array(repeating: now, count: count)).suffix(FlapCounter.limit)
            record.counter = link.carrierLosses
            record.hadCarrier = link.hasCarrier
            next[life] = record
        }
        self.records = next
    }

    /// True when the link lost its carrier too often lately.
    func isFlapping(_ index: UInt32, _ generation: UInt32, at now: MonotonicTime) -> Bool {
        guard let record = self.records[Life(index: index, generation: generation)] else { return false }
        return record.losses.count { now - $0 < FlapCounter.window } >= FlapCounter.limit
    }
}
