internal import TidegateCore
internal import TidegateNetwork

/// Ends that the kernel's counters of their second decide.
struct AmbiguousEnds {
    var connects = AmbiguousConnects()
    var unread = UnreadEnds()
}

/// Established connections that ended with something unread, which either side may have reset.
///
/// The kernel's messages about them are the same, but it counts those that this host reset for unread data
/// (TCPAbortOnClose). So those of a second are judged together: as many were aborted as it counted, and which ones is a
/// guess.
struct UnreadEnds {
    struct End {
        let report: SocketReport
        let known: TrackedConnection?
        var context: OutcomeClassifier.Context
    }

    private var waiting: [End] = []
    // How many the kernel has counted so far, and how many of the last second's no end was found for.
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
