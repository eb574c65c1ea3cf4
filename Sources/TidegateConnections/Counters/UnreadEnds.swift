internal import TidegateCore
internal import TidegateNetwork

/// Endings that the kernel's counters of the same second decide.
struct AmbiguousEnds {
    var connects = AmbiguousConnects()
    var unread = UnreadEnds()
}

/// Established connections that ended with something unread, which either side may have reset.
///
/// The kernel reports both cases alike, but counts its own resets (TCPAbortOnClose). The endings of a second are therefore
/// classified together: the number of aborts is exact, and the choice of connections is a guess.
struct UnreadEnds {
    struct End {
        let report: SocketReport
        let known: TrackedConnection?
        var context: OutcomeClassifier.Context
    }

    private var waiting: [End] = []
    // The counter at the last second, and the aborts of that second without a matching ending.
    private var counted: UInt64?
    private var unmatched: UInt64 = 0

    /// Holds an end back.
    mutating func add(_ end: End) { self.waiting.append(end) }

    /// Judges those of the second that ends, by the kernel's counters now; nil if they cannot be read.
    ///
    /// A message may be read in the second after its connection was counted, but never before it.
    mutating func assess(by counters: TCPCounters?) -> [(end: End, ending: ConnectionEnding)] {
        let ends = self.waiting
        self.waiting = []
        let growth = counters.map { $0.closeAborts.growth(since: self.counted ?? $0.closeAborts) }
        var left = self.unmatched + (growth ?? 0)
        defer {
            self.unmatched = min(left, growth ?? 0)
            self.counted = counters?.closeAborts ?? self.counted
        }
        return ends.compactMap { end in
            var end = end
            end.context.isAbortedOnClose = growth.map { _ in left > 0 }
            guard case .connection(let ending) = OutcomeClassifier.classify(end.report, end.context) else { return nil }
            if ending.outcome == .aborted { left = left.growth(since: 1) }
            return (end, ending)
        }
    }
}
