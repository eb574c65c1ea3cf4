internal import TidegateCore

/// Counts carrier losses; after three within 30 seconds a link counts as flapping, and its gains are held back.
///
/// The hold is limited, because a link that is up three seconds in four can carry three requests in four. After 15
/// seconds gains count immediately again, until the link has kept its carrier for 30 seconds.
struct FlapCounter {
    private struct LinkID: Hashable {
        let index: UInt32
        let generation: UInt32
    }

    private struct Record {
        var losses: [MonotonicTime] = []
        var counter: UInt32?
        var hadCarrier: Bool
        /// Since when it flaps; nil if it has kept its carrier for long enough.
        var flappingSince: MonotonicTime?
    }

    private static let window = Duration.seconds(30)
    private static let limit = 3
    private static let hold = Duration.seconds(5)
    private static let longestSuppression = Duration.seconds(15)

    private var records: [LinkID: Record] = [:]

    /// Records the current state of the links.
    mutating func observe(_ links: some Sequence<Link>, at now: MonotonicTime) {
        var next: [LinkID: Record] = [:]
        for link in links {
            let id = LinkID(index: link.index, generation: link.generation)
            var record = self.records[id] ?? Record(counter: link.carrierLosses, hadCarrier: link.hasCarrier)
            // The kernel merges fast flaps into few messages; only its counter includes them all.
            let count =
                if let counter = link.carrierLosses, let before = record.counter {
                    Int(min(counter &- before, UInt32(FlapCounter.limit)))
                } else {
                    record.hadCarrier && !link.hasCarrier ? 1 : 0
                }
            record.losses = record.losses.filter { now - $0 < FlapCounter.window }
            record.losses = (record.losses + Array(repeating: now, count: count)).suffix(FlapCounter.limit)
            if record.losses.isEmpty { record.flappingSince = nil }
            if record.losses.count == FlapCounter.limit { record.flappingSince = record.flappingSince ?? now }
            record.counter = link.carrierLosses
            record.hadCarrier = link.hasCarrier
            next[id] = record
        }
        self.records = next
    }

    /// How long a gain over the link must be stable; nil if the link has not flapped recently, or if its gains have
    /// been held back for long enough.
    func hold(_ index: UInt32, _ generation: UInt32, at now: MonotonicTime) -> Duration? {
        guard let record = self.records[LinkID(index: index, generation: generation)],
            let since = record.flappingSince,
            record.losses.count(where: { now - $0 < FlapCounter.window }) == FlapCounter.limit
        else { return nil }
        let left = FlapCounter.longestSuppression - (now - since)
        return left > .zero ? min(FlapCounter.hold, left) : nil
    }
}
