internal import TidegateCore
internal import TidegateNetwork

/// Failed connects whose outcome is ambiguous: given up, refused or unreachable.
///
/// The kernel counts a failed connect if the program received an ICMP error, but not if the program gave up. The
/// connects of one second are therefore classified together by its counters: at most as many were unreachable as ICMP
/// messages arrived. Some messages may be about something else, so the choice of connects is a guess.
struct AmbiguousConnects: Sendable {
    private var waiting: [(report: SocketReport, isTorn: Bool)] = []
    // Connects of this second whose outcome is known and counted by the kernel.
    private var explained: UInt64 = 0
    private var timedOut: UInt64 = 0
    private var last: TCPCounters?

    /// Adds a connect to the ambiguous ones.
    mutating func add(_ report: SocketReport, isTorn: Bool) { self.waiting.append((report, isTorn)) }

    /// Records a connect with a known outcome.
    mutating func explain(_ outcome: ConnectionOutcome) {
        switch outcome {
        case .refused, .notSent: self.explained += 1
        case .noAnswer: self.timedOut += 1
        case .established, .unreachable, .abandoned, .closed, .reset, .lost, .aborted: break
        }
    }

    /// Classifies the connects of the ending second by the kernel's current counters; without counters none is
    /// classified as unreachable.
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
        // A torn-down connect had certainly failed: the kernel counted it.
        return self.waiting.sorted { $0.isTorn && !$1.isTorn }.map { report, isTorn in
            guard unreachable > 0 else { return (report, isTorn ? .refused : .abandoned) }
            unreachable -= 1
            return (report, .unreachable)
        }
    }
}

/// Established connections that ended with unread data, which either side may have reset.
///
/// The kernel reports both cases alike, but counts its own resets (TCPAbortOnClose). The endings of a second are
/// therefore classified together: the number of aborts is exact, and the choice of connections is a guess.
struct UnreadEnds {
    typealias End = (report: SocketReport, known: TrackedConnection?, context: OutcomeClassifier.Context)

    private var waiting: [End] = []
    // The counter at the last second, and the aborts of that second without a matching ending.
    private var counted: UInt64?
    private var unmatched: UInt64 = 0

    /// Adds an ambiguous ending.
    mutating func add(_ end: End) { self.waiting.append(end) }

    /// Classifies the endings of the ending second by the kernel's current counters, which are nil if they cannot be
    /// read.
    ///
    /// A message may be read in the second after its connection was counted, but never before it.
    mutating func assess(by counters: TCPCounters?) -> [(end: End, ending: ConnectionEnding)] {
        let ends = exchange(&self.waiting, with: [])
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

/// Compares the observations with the kernel's counters, which miss nothing.
struct Reconciliation: Sendable {
    /// The observations since the start, including loopback and this program's own connections.
    struct Observed: Sendable, Hashable {
        /// Connects that have ended or led to a live connection.
        var connects: UInt64 = 0
        /// Established connections that either side reset, or that were lost.
        var resets: UInt64 = 0
    }

    private let start: TCPCounters
    private var missing = Observed()
    private var reported = Observed()

    /// Starts comparing at `start`.
    init(since start: TCPCounters) { self.start = start }

    /// What is unexplained both now and at the previous comparison; a difference seen once may come from messages still
    /// unread.
    ///
    /// Callers must read `counters` first, then list the sockets, then read the messages.
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
