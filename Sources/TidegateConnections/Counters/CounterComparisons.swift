internal import TidegateCore
internal import TidegateNetwork

/// Connects that ended without a sign of what became of them: given up, refused or unreachable.
///
/// For a program that was told of an ICMP error the kernel counts a failed connect, for one that gave up it does not. So
/// those of a second are judged together by its counters: at most as many were unreachable as ICMP messages came. Some of
/// these messages may be about something else, so that the choice is a guess.
struct AmbiguousConnects: Sendable {
    private var waiting: [(report: SocketReport, isTorn: Bool)] = []
    // Connects of this second whose end the kernel counts, and which are explained.
    private var explained: UInt64 = 0
    private var timedOut: UInt64 = 0
    private var last: TCPCounters?

    /// Holds a connect back.
    mutating func add(_ report: SocketReport, isTorn: Bool) { self.waiting.append((report, isTorn)) }

    /// A connect ended in a way that needs no judgement.
    mutating func explain(_ outcome: ConnectionOutcome) {
        switch outcome {
        case .refused, .notSent: self.explained += 1
        case .noAnswer: self.timedOut += 1
        case .established, .unreachable, .abandoned, .closed, .reset, .lost, .aborted: break
        }
    }

    /// Judges those of the second that ends, by the kernel's counters now; nil if they cannot be read: then nothing says
    /// that one was unreachable.
    mutating func assess(by counters: TCPCounters?) -> [(report: SocketReport, outcome: ConnectionOutcome)] {
        defer {
            (self.waiting, self.explained, self.timedOut) = ([], 0, 0)
            self.last = counters ?? self.last
        }
        let counters = counters ?? self.last ?? TCPCounters()
        let last = self.last ?? counters
        let failed = counters.attemptFails.growth(since: last.attemptFails)
        let kernelTimeouts = min(self.timedOut, counters.timeoutAborts.growth(since: last.timeoutAborts))
        let messages = counters.unreachableMessages.growth(since: last.unreachableMessages)
        var unreachable = min(messages, failed.growth(since: self.explained + kernelTimeouts))
        // A torn one had failed for certain: the kernel counted it.
        return self.waiting.sorted { $0.isTorn && !$1.isTorn }.map { report, isTorn in
            guard unreachable > 0 else { return (report, isTorn ? .refused : .abandoned) }
            unreachable -= 1
            return (report, .unreachable)
        }
    }
}

/// Established connections that ended with something unread, which either side may have reset.
///
/// The kernel reports both cases alike, but counts its own resets (TCPAbortOnClose). The endings of a second are therefore
/// classified together: the number of aborts is exact, and the choice of connections is a guess.
struct UnreadEnds {
    typealias End = (report: SocketReport, known: TrackedConnection?, context: OutcomeClassifier.Context)

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
            guard let ending = OutcomeClassifier.classify(end.report, end.context) else { return nil }
            if ending.outcome == .aborted { left = left.growth(since: 1) }
            return (end, ending)
        }
    }
}

/// Compares what was observed with what the kernel counted, which is never lost.
struct Reconciliation: Sendable {
    /// What was observed, of this program and of loopback, too, since observing began.
    struct Observed: Sendable, Hashable {
        /// Connects that have ended, or whose connections live.
        var connects: UInt64 = 0
        /// Established connections that were reset by either side, or lost.
        var resets: UInt64 = 0
    }

    private let start: TCPCounters
    private var missing = Observed()
    private var reported = Observed()

    /// Compares from `start` on.
    init(since start: TCPCounters) { self.start = start }

    /// What is unexplained now and was so at the comparison before; what was read in between two messages is not yet.
    ///
    /// `counters` are read first, then the sockets are listed, then the messages are read.
    mutating func compare(
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

extension FixedWidthInteger where Self: UnsignedInteger {
    /// By how much it is above `other`; 0 if it is not.
    func growth(since other: Self) -> Self { self > other ? self - other : 0 }
}
