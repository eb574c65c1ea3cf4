internal import TidegateCore

/// How many connections of a remote ended how in the last five minutes, counted in intervals.
///
/// Thousands of remotes have one: only what happened takes memory, 8 bytes for each interval, outcome and party, and at
/// most ``limit`` of them.
struct OutcomeWindow {
    /// What is older is forgotten.
    static let length = RemoteReport.Interval.length * Int(intervals)
    /// Four in each interval, twice what a busy remote that fails has; of more than that the oldest are forgotten.
    static let limit = 4 * Int(intervals)

    private static let intervals: UInt32 = 30

    /// How often the same happened in one interval.
    struct Tally {
        /// The number of the interval since the clock's start.
        let interval: UInt32
        var count: UInt16
        let outcome: ConnectionOutcome
        /// Whose failure it was; nil if it is none, or if that is not decided.
        let party: FaultParty?
    }

    /// The oldest interval first.
    private(set) var tallies: [Tally] = []

    /// A connection ended so.
    mutating func add(_ outcome: ConnectionOutcome, at now: MonotonicTime) {
        let interval = Self.interval(of: now)
        if self.tallies.last?.interval != interval { self.tallies.removeAll { !Self.isRecent($0, interval) } }
        self.count(outcome, nil, in: interval, at: self.tallies.endIndex)
    }

    /// It is decided whose failure an outcome of `moment` was; nothing, if that one is forgotten.
    mutating func attribute(_ outcome: ConnectionOutcome, of moment: MonotonicTime, to party: FaultParty) {
        let interval = Self.interval(of: moment)
        let undecided = self.tallies.lastIndex {
            $0.interval == interval && $0.outcome == outcome && $0.party == nil
        }
        guard let undecided else { return }
        self.tallies[undecided].count -= 1
        let isLast = self.tallies[undecided].count == 0
        if isLast { self.tallies.remove(at: undecided) }
        self.count(outcome, party, in: interval, at: isLast ? undecided : undecided + 1)
    }

    // Where there is none with room yet, a new one goes to the place given, which is one of the same interval.
    private mutating func count(
        _ outcome: ConnectionOutcome, _ party: FaultParty?, in interval: UInt32, at place: Int
    ) {
        let known = self.tallies.lastIndex {
            $0.interval == interval && $0.outcome == outcome && $0.party == party && $0.count < .max
        }
        if let known {
            self.tallies[known].count += 1
            return
        }
        self.tallies.insert(Tally(interval: interval, count: 1, outcome: outcome, party: party), at: place)
        if self.tallies.count > Self.limit { self.tallies.removeFirst() }
    }

    /// The counts of the last five minutes.
    func counts(at now: MonotonicTime) -> [ConnectionOutcome: Int] {
        self.recent(at: now).reduce(into: [:]) { $0[$1.outcome, default: 0] += Int($1.count) }
    }

    /// Whose failures those of the last five minutes were.
    func failures(at now: MonotonicTime) -> [ConnectionOutcome: [FaultParty: Int]] {
        self.recent(at: now).reduce(into: [:]) { sum, tally in
            guard let party = tally.party else { return }
            sum[tally.outcome, default: [:]][party, default: 0] += Int(tally.count)
        }
    }

    /// The intervals of the last five minutes in which something was counted, the oldest first.
    func history(at now: MonotonicTime) -> [RemoteReport.Interval] {
        let latest = Self.interval(of: now)
        var intervals: [RemoteReport.Interval] = []
        for tally in self.recent(at: now) {
            let age = RemoteReport.Interval.length * Int(latest - tally.interval)
            if intervals.last?.age != age { intervals.append(RemoteReport.Interval(age: age)) }
            intervals[intervals.endIndex - 1].add(tally.outcome, tally.party, Int(tally.count))
        }
        return intervals.filter { !$0.isEmpty }
    }

    private func recent(at now: MonotonicTime) -> [Tally] {
        let latest = Self.interval(of: now)
        return self.tallies.filter { Self.isRecent($0, latest) }
    }

    private static func isRecent(_ tally: Tally, _ latest: UInt32) -> Bool {
        tally.interval <= latest && latest - tally.interval < Self.intervals
    }

    private static func interval(of moment: MonotonicTime) -> UInt32 {
        UInt32(clamping: moment.nanoseconds / UInt64(RemoteReport.Interval.length.wholeNanoseconds))
    }
}
