internal import TidegateCore

/// Decides when live connections are worth being listed: the kernel walks its whole table for each list, however few
/// connections there are.
struct ListSchedule {
    // A list that takes longer is not made on demand, nor every second.
    private static let longestOnDemand = Duration.milliseconds(5)
    // A caller accepts a list that is no older than this.
    private static let shortestAge = Duration.milliseconds(500)
    // About a quarter of the time that a connection takes to show that it hangs.
    private static let suspectInterval = Duration.milliseconds(250)
    // At most 1 % of a processor.
    private static let share = 100

    private var last: (end: MonotonicTime, duration: Duration, established: UInt64?)?
    // Established connections as the kernel counts them; nil if it does not say.
    private var established: UInt64?
    // Connections that programs of this host opened, as the kernel counts them; nil if it does not say.
    private var opened: UInt64?
    private var openedBeforeList: UInt64?
    private var hasConnecting = true
    private var retransmitted: UInt64?
    private var isWatchingSuspects = false
    /// The kinds that have been listed; the first list of a kind shows what was there before.
    var listed: Set<ConnectionStatistics.Dump> = []
    /// Whether the kernel has sent segments again in the last second: then something may hang.
    private(set) var isSuspicious = false

    /// Whether a connection may be opening: the last list showed some, or the kernel has opened more since.
    var needsConnecting: Bool {
        self.hasConnecting || self.opened == nil || self.opened != self.openedBeforeList
    }

    /// What the kernel counts now; nil if it does not say.
    mutating func count(_ counters: TCPCounters?) {
        self.opened = counters?.activeOpens
        self.established = counters?.established
    }

    /// A second has passed, in which the kernel counted; nil if it does not say.
    mutating func secondPassed(_ counters: TCPCounters?) {
        self.count(counters)
        guard let now = counters?.retransmittedSegments else { return }
        self.isSuspicious = self.retransmitted.map { now > $0 } ?? false
        self.retransmitted = now
    }

    /// A list of the connections that are opening has ended, which showed so many.
    mutating func didListConnecting(_ count: Int) {
        self.hasConnecting = count > 0
        self.openedBeforeList = self.opened
    }

    /// A list of the established connections has ended.
    mutating func didListEstablished(at end: MonotonicTime, took duration: Duration) {
        self.last = (end, duration, self.established)
    }

    /// Whether the last list took long, and most of its connections have gone since, so that one of those that are left
    /// is worth its time before the pause after that one is over.
    func isOutdated(at now: MonotonicTime) -> Bool {
        guard let last = self.last, last.duration >= Self.longestOnDemand, let then = last.established,
            let established = self.established, established < then / 2
        else { return false }
        let expected = last.duration * (Double(established) / Double(then))
        return now - last.end >= max(.seconds(1), expected * Self.share)
    }

    /// Whether a caller should get a new list of the established connections.
    func isDue(at now: MonotonicTime) -> Bool {
        guard let last = self.last else { return true }
        return last.duration < Self.longestOnDemand && now - last.end >= Self.shortestAge
    }

    /// How long to wait after a list that took `duration` and showed a connection that may be about to hang: it is looked
    /// at until it does, or goes on; nil if that is waited for already, or if lists take too long for it.
    mutating func suspectPause(after duration: Duration) -> Duration? {
        guard !self.isWatchingSuspects, duration < Self.longestOnDemand else { return nil }
        self.isWatchingSuspects = true
        return max(Self.suspectInterval, duration * Self.share)
    }

    /// The pause of ``suspectPause(after:)`` is over.
    mutating func suspectPauseEnded() { self.isWatchingSuspects = false }

    /// How long to wait after a list that took `duration`; while something hangs, it is looked at every second.
    ///
    /// A minute at most: a list may have taken long because the machine slept.
    static func pause(after duration: Duration, every interval: Duration, isAnythingStalled: Bool) -> Duration {
        let wanted = isAnythingStalled && duration < Self.longestOnDemand ? min(interval, .seconds(1)) : interval
        return max(wanted, min(duration * Self.share, .seconds(60)))
    }
}
