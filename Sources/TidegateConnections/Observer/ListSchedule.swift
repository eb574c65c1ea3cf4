internal import TidegateCore

/// Decides when to list live connections: the kernel walks its whole table for each list, however few connections there
/// are.
struct ListSchedule {
    // A slower list is neither made on demand nor every second.
    private static let longestOnDemand = Duration.milliseconds(5)
    // Callers accept a list no older than this.
    private static let shortestAge = Duration.milliseconds(500)
    // About a quarter of the time after which a connection counts as hanging.
    private static let suspectInterval = Duration.milliseconds(250)
    // At most 1 % of a processor.
    private static let share = 100

    private var last: (end: MonotonicTime, duration: Duration, established: UInt64?)?
    // The kernel's count of established connections; nil if unavailable.
    private var established: UInt64?
    // The kernel's count of connections opened by programs of this host; nil if unavailable.
    private var opened: UInt64?
    private var openedBeforeList: UInt64?
    private var hasConnecting = true
    private var retransmitted: UInt64?
    private var isWatchingSuspects = false
    /// The kinds listed so far; the first list of a kind shows connections from before the start.
    var listed: Set<ConnectionStatistics.Dump> = []
    /// Whether the kernel retransmitted segments in the last second, so that a connection may hang.
    private(set) var isSuspicious = false

    /// Whether a connection may be opening: the last list showed some, or the kernel has opened more since.
    var needsConnecting: Bool {
        self.hasConnecting || self.opened == nil || self.opened != self.openedBeforeList
    }

    /// Takes the kernel's current counters; nil if unavailable.
    mutating func count(_ counters: TCPCounters?) {
        self.opened = counters?.activeOpens
        self.established = counters?.established
    }

    /// Handles the end of a second, with the kernel's counters; nil if unavailable.
    mutating func secondPassed(_ counters: TCPCounters?) {
        self.count(counters)
        guard let now = counters?.retransmittedSegments else { return }
        self.isSuspicious = self.retransmitted.map { now > $0 } ?? false
        self.retransmitted = now
    }

    /// Records the end of a list of opening connections and the number it showed.
    mutating func didListConnecting(_ count: Int) {
        self.hasConnecting = count > 0
        self.openedBeforeList = self.opened
    }

    /// Records the end of a list of established connections.
    mutating func didListEstablished(at end: MonotonicTime, took duration: Duration) {
        self.last = (end, duration, self.established)
    }

    /// Whether the last list was slow but most of its connections have gone since, so that a new list is worthwhile
    /// before the pause ends.
    func isOutdated(at now: MonotonicTime) -> Bool {
        guard let last = self.last, last.duration >= Self.longestOnDemand, let then = last.established,
            let established = self.established, established < then / 2
        else { return false }
        let expected = last.duration * (Double(established) / Double(then))
        return now - last.end >= max(.seconds(1), expected * Self.share)
    }

    /// Whether a caller needs a new list of the established connections.
    func isDue(at now: MonotonicTime) -> Bool {
        guard let last = self.last else { return true }
        return last.duration < Self.longestOnDemand && now - last.end >= Self.shortestAge
    }

    /// How long to wait before listing again a connection that may be about to hang.
    ///
    /// `duration` is how long the last list took. Nil if such a wait is already running, or if lists are too slow for
    /// it.
    mutating func suspectPause(after duration: Duration) -> Duration? {
        guard !self.isWatchingSuspects, duration < Self.longestOnDemand else { return nil }
        self.isWatchingSuspects = true
        return max(Self.suspectInterval, duration * Self.share)
    }

    /// Ends the pause of ``suspectPause(after:)``.
    mutating func suspectPauseEnded() { self.isWatchingSuspects = false }

    /// How long to wait after a list that took `duration`; one second while a connection hangs.
    ///
    /// A minute at most: a list may have been slow because the machine slept.
    static func pause(after duration: Duration, every interval: Duration, isAnythingStalled: Bool) -> Duration {
        let wanted = isAnythingStalled && duration < Self.longestOnDemand ? min(interval, .seconds(1)) : interval
        return max(wanted, min(duration * Self.share, .seconds(60)))
    }
}
