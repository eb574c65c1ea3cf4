internal import Tidegate

/// Decides when a condition is asked about again: at once on another way, else after ever longer pauses.
struct PollInterval: Sendable {
    /// The first pause after an answer.
    static let first: Duration = .seconds(1)
    /// No pause is longer.
    static let longest: Duration = .seconds(10)
    /// A way that changes all the time is not asked about more often.
    static let shortest: Duration = .milliseconds(250)

    private var pause = PollInterval.first
    private var last: (moment: MonotonicTime, ways: Ways)?

    /// True when the time to ask has come.
    func isDue(on ways: Ways, at now: MonotonicTime) -> Bool {
        guard let last = self.last else { return true }
        return now - last.moment >= (last.ways == ways ? self.pause : PollInterval.shortest)
    }

    /// Takes note that somebody was asked.
    mutating func asked(on ways: Ways, at now: MonotonicTime) {
        if let last = self.last, last.ways == ways {
            self.pause = min(self.pause * 2, PollInterval.longest)
        } else {
            self.pause = PollInterval.first
        }
        self.last = (now, ways)
    }
}

/// The ways that packets take now: what an answer is worth something on, and nothing on any other.
struct Ways: Sendable, Hashable {
    private let ways: [NetworkPath.Identity?]

    /// The families' ways, and those to a target's addresses.
    init(_ status: ReachabilityStatus, to target: Target? = nil) {
        let addresses = status.targets.first { $0.target == target }?.addresses ?? []
        let verdicts = status.families.map(\.verdict) + addresses.map(\.verdict)
        self.ways = verdicts.map { verdict in
            guard verdict.level >= .routed, let path = verdict.path else { return nil }
            return path.identity
        }
    }
}
