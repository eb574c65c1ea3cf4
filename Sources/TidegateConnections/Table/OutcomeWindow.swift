internal import TidegateCore

/// How many connections of a remote ended how in the last five minutes, counted in intervals.
struct OutcomeWindow {
    /// What is older is forgotten.
    static let length = RemoteReport.Interval.length * Int(intervals)

    /// How many of the intervals there are.
    private static let intervals: UInt64 = 30

    /// Thousands of remotes have one of these for each interval and outcome.
    private struct Count {
        let interval: UInt64
        let outcome: ConnectionOutcome
        /// Whose failure it was; nil for all of that outcome.
        let party: FaultParty?
        var count: UInt32
    }

    private var counts: [Count] = []

    /// A connection ended so.
    mutating func add(_ outcome: ConnectionOutcome, at now: MonotonicTime) {
        self.add(outcome, nil, at: now, now: now)
    }

    /// It is decided whose failure an outcome of `moment` was.
    mutating func attribute(
        _ outcome: ConnectionOutcome, of moment: MonotonicTime, to party: FaultParty, at now: MonotonicTime
    ) {
        self.add(outcome, party, at: moment, now: now)
    }

    private mutating func add(
        _ outcome: ConnectionOutcome, _ party: FaultParty?, at moment: MonotonicTime, now: MonotonicTime
    ) {
        let interval = Self.interval(of: moment)
        // Most often it is one of the last.
        let place = self.counts.lastIndex {
            $0.interval == interval && $0.outcome == outcome && $0.party == party
        }
        if let place {
            self.counts[place].count += 1
        } else {
            self.counts.removeAll { !Self.isRecent($0.interval, at: now) }
            self.counts.append(Count(interval: interval, outcome: outcome, party: party, count: 1))
        }
    }

    private static func interval(of moment: MonotonicTime) -> UInt64 {
        moment.nanoseconds / UInt64(RemoteReport.Interval.length.wholeNanoseconds)
    }

    private static func isRecent(_ interval: UInt64, at now: MonotonicTime) -> Bool {
        interval + Self.intervals > Self.interval(of: now)
    }

    /// The counts of the last five minutes.
    func counts(at now: MonotonicTime) -> [ConnectionOutcome: Int] {
        self.counts.reduce(into: [:]) { sum, count in
            guard count.party == nil, Self.isRecent(count.interval, at: now) else { return }
            sum[count.outcome, default: 0] += Int(count.count)
        }
    }

    /// Whose failures those of the last five minutes were.
    func failures(at now: MonotonicTime) -> [ConnectionOutcome: [FaultParty: Int]] {
        self.counts.reduce(into: [:]) { sum, count in
            guard let party = count.party, Self.isRecent(count.interval, at: now) else { return }
            sum[count.outcome, default: [:]][party, default: 0] += Int(count.count)
        }
    }

    /// The intervals of the last five minutes in which something was counted, the oldest first.
    func history(at now: MonotonicTime) -> [RemoteReport.Interval] {
        let last = Self.interval(of: now)
        var intervals: [UInt64: RemoteReport.Interval] = [:]
        for count in self.counts where Self.isRecent(count.interval, at: now) {
            let age = RemoteReport.Interval.length * Int(last - min(last, count.interval))
            intervals[count.interval, default: RemoteReport.Interval(age: age)].add(
                count.outcome, count.party, Int(count.count))
        }
        return intervals.values.filter { !$0.isEmpty }.sorted { $0.age > $1.age }
    }
}
