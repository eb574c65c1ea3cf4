internal import TidegateCore

/// Adds up how long each level lasted, the present one included.
struct LevelDurations {
    private var level: ReachabilityLevel
    private var since: MonotonicTime
    private var totals: [ReachabilityLevel: Duration] = [:]

    init(level: ReachabilityLevel, since: MonotonicTime) {
        self.level = level
        self.since = since
    }

    /// Another level begins; a moment before the last change counts as the last change.
    mutating func change(to level: ReachabilityLevel, at moment: MonotonicTime) {
        self.totals[self.level, default: .zero] += max(.zero, moment - self.since)
        self.since = max(self.since, moment)
        self.level = level
    }

    /// How long `level` lasted until `now`, in all.
    func total(_ level: ReachabilityLevel, until now: MonotonicTime) -> Duration {
        let past = self.totals[level] ?? .zero
        return level == self.level ? past + max(.zero, now - self.since) : past
    }
}
