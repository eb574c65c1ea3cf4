internal import TidegateCore

/// What became of connections that hung.
enum StallEnd {
    /// The remote has answered since.
    case answered
    /// They have ended, or were given up.
    case gone
}

/// Since when connections to a remote hang, also while a program tries once more.
struct StallTimes {
    // What hangs began to at about its last answer; whatever answers after that does so later than it takes to hang.
    private static let tolerance = Duration.seconds(1)
    // A program that tries again and again does so within a minute.
    private static let longestPause = Duration.seconds(60)

    private var since: [ConnectionStall: MonotonicTime] = [:]
    // When a list last showed one that hangs.
    private var lastShown: MonotonicTime?

    /// Since when nothing has come back; a program that does not read is no silence of its host.
    var silentSince: MonotonicTime? { self.since.filter { $0.key != .window }.values.min() }

    /// A list showed a connection that hangs.
    mutating func add(_ stall: StallFinding, at now: MonotonicTime) {
        let since = now - stall.age
        self.since[stall.kind] = min(self.since[stall.kind] ?? since, since)
    }

    /// A list of the established connections, or of others, has ended: it showed so many, which hang in the `shown` ways.
    ///
    /// Says what became of those that hung before it; nil if they still do, or nobody knows yet.
    mutating func endList(
        isEstablished: Bool, count: Int, _ shown: Set<ConnectionStall>, answered: MonotonicTime?, at now: MonotonicTime
    ) -> StallEnd? {
        if !shown.isEmpty { self.lastShown = now }
        guard !self.since.isEmpty else { return nil }
        // A program that tries again and again hangs once: that it gave up in between is no recovery.
        self.since = self.since.filter { kind, since in
            shown.contains(kind) || !(answered.map { $0 - since > Self.tolerance } ?? false)
        }
        if self.since.isEmpty { return .answered }
        guard isEstablished, shown.isEmpty, count == 0 || self.hasPaused(at: now) else { return nil }
        self.since = [:]
        return .gone
    }

    // The others are idle: what hung has ended unseen, and was not tried again.
    private func hasPaused(at now: MonotonicTime) -> Bool {
        self.lastShown.map { now - $0 >= Self.longestPause } ?? true
    }
}

extension MonotonicTime {
    /// The moment `duration` earlier.
    static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime { time + (.zero - duration) }
}
