package import TidegateCore

/// Compares what was observed with what the kernel counted, which is never lost.
package struct Reconciliation: Sendable {
    /// What was observed, of this program and of loopback, too, since observing began.
    package struct Observed: Sendable, Hashable {
        /// Connects that have ended, or whose connections live.
        package var connects: UInt64 = 0
        /// Established connections that were reset by either side, or lost.
        package var resets: UInt64 = 0

        package init() {}
    }

    private let start: TCPCounters
    private var missing = Observed()
    private var reported = Observed()

    /// Compares from `start` on.
    package init(since start: TCPCounters) { self.start = start }

    /// What is unexplained now and was so at the comparison before; what was read in between two messages is not yet.
    ///
    /// `counters` are read first, then the sockets are listed, then the messages are read.
    package mutating func compare(
        _ observed: Observed, with counters: TCPCounters
    ) -> [ConnectionStatistics.Unexplained: UInt64] {
        var now = Observed()
        now.connects = counters.activeOpens.growth(since: self.start.activeOpens).growth(since: observed.connects)
        now.resets = counters.establishedResets.growth(since: self.start.establishedResets).growth(
            since: observed.resets)
        self.reported.connects = max(self.reported.connects, min(now.connects, self.missing.connects))
        self.reported.resets = max(self.reported.resets, min(now.resets, self.missing.resets))
        self.missing = now
        return [.connects: self.reported.connects, .resets: self.reported.resets]
    }
}

extension UInt64 {
    /// By how much it is above `other`; 0 if it is not.
    func growth(since other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
