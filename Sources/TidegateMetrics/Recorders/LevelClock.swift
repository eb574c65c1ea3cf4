internal import TidegateCore

/// Adds up how long each level lasted, the present one included.
struct LevelClock {
    private var level: Level
    private var since: MonotonicTime
    private var totals: [Level: Duration] = [:]

    init(level: Level, since: MonotonicTime) {
        self.level = level
        self.since = since
    }

    /// Another level begins; a moment before the last one counts as that one.
    mutating func change(to level: Level, at moment: MonotonicTime) {
        self.totals[self.level, default: .zero] += max(.zero, moment - self.since)
        self.since = max(self.since, moment)
        self.level = level
    }

    /// How long `level` lasted until `now`, in all.
    func total(_ level: Level, until now: MonotonicTime) -> Duration {
        let past = self.totals[level] ?? .zero
        return level == self.level ? past + max(.zero, now - self.since) : past
    }
}
