internal import TidegateCore

/// Counts carrier losses; after three within 30 seconds a link counts as flapping.
struct FlapCounter {
    private struct LinkID: Hashable {
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

    private var records: [LinkID: Record] = [:]

    /// Records the links' present state.
    mutating func observe(_ links: some Sequence<Link>, at now: MonotonicTime) {
        var next: [LinkID: Record] = [:]
        for link in links {
            let id = LinkID(index: link.index, generation: link.generation)
            var record = self.records[id] ?? Record(counter: link.carrierLosses, hadCarrier: link.hasCarrier)
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
            next[id] = record
        }
        self.records = next
    }

    /// True if the link has lost its carrier too often lately.
    func isFlapping(_ index: UInt32, _ generation: UInt32, at now: MonotonicTime) -> Bool {
        guard let record = self.records[LinkID(index: index, generation: generation)] else { return false }
        return record.losses.count { now - $0 < FlapCounter.window } >= FlapCounter.limit
    }
}
