package import TidegateCore

/// How much of a period Tidegate watched, and how much of that something was down.
package struct Coverage: Sendable, Hashable {
    /// A recorded period: Tidegate watched, the machine was suspended, or an operator planned maintenance.
    package struct Span: Sendable, Hashable {
        package enum State: String, Sendable {
            case watched, suspended, planned
        }

        /// Stays the same when the wall clock is set.
        package let id: String
        package var state: State
        package var start: WallTime
        package var end: WallTime
        /// The operator's text of a planned period; empty for the others.
        package var text = ""

        /// A span from its parts.
        package init(_ id: String, _ state: State, from start: WallTime, to end: WallTime, text: String = "") {
            (self.id, self.state, self.start, self.end, self.text) = (id, state, start, end, text)
        }

        /// The member of `plans` of a planned period.
        package var json: JSONValue {
            [
                "id": .string(self.id), "from": .string(self.start.description), "to": .string(self.end.description),
                "text": .string(self.text),
            ]
        }
    }

    /// A time during which something was down or degraded.
    package struct Outage: Sendable, Hashable {
        package var start: WallTime
        /// Nil while it lasts.
        package var end: WallTime?
        package var party: FaultParty
        package var isDegraded: Bool
        /// Its incident is maintenance, which was not asked to be counted.
        package var isPlanned: Bool
    }

    package private(set) var watched = Duration.zero
    package private(set) var suspended = Duration.zero
    /// Neither watched nor suspended: Tidegate did not run, or the clock was set forward.
    package private(set) var stopped = Duration.zero
    /// Watched time that was down, without maintenance.
    package private(set) var down = Duration.zero
    /// Watched time that was down for another party than this host alone, without maintenance.
    package private(set) var downForOthers = Duration.zero
    /// Watched time that was degraded and not down.
    package private(set) var degraded = Duration.zero
    /// Watched time that was down during maintenance.
    package private(set) var planned = Duration.zero

    /// The share of watched time that was not down; nil if nothing was watched.
    ///
    /// Downtime during maintenance is left out.
    package var availability: Double? { self.share(self.down) }

    /// The availability without this host's own outages.
    package var availabilityForOthers: Double? { self.share(self.downForOthers) }

    private func share(_ down: Duration) -> Double? {
        let counted = self.watched - self.planned
        return counted > .zero ? (counted - down).inSeconds / counted.inSeconds : nil
    }

    /// Adds up the time from `start` to `end`; an outage that lasts is counted until `end`.
    package init(from start: WallTime, to end: WallTime, spans: [Span], outages: [Outage]) {
        let all = TimeSet([(start, end)])
        func time(_ state: Span.State) -> TimeSet {
            TimeSet(spans.filter { $0.state == state }.map { ($0.start, $0.end) }).intersection(all)
        }
        let (watched, suspended) = (time(.watched), time(.suspended))
        func outage(_ isWanted: (Outage) -> Bool) -> TimeSet {
            TimeSet(outages.filter(isWanted).map { ($0.start, $0.end ?? end) }).intersection(watched)
        }
        let every = outage { !$0.isDegraded }
        let planned = outage { !$0.isDegraded && $0.isPlanned }
        self.watched = watched.duration
        self.suspended = suspended.union(watched).duration - watched.duration
        self.stopped = all.duration - self.watched - self.suspended
        self.planned = planned.duration
        self.down = every.duration - self.planned
        self.downForOthers = outage { !$0.isDegraded && $0.party != .mine }.union(planned).duration - self.planned
        self.degraded = outage(\.isDegraded).union(every).duration - every.duration
    }

    /// The member `coverage` of `incidents --json`.
    package var json: JSONValue {
        [
            "watchedSeconds": .seconds(self.watched), "suspendedSeconds": .seconds(self.suspended),
            "stoppedSeconds": .seconds(self.stopped), "downSeconds": .seconds(self.down),
            "degradedSeconds": .seconds(self.degraded), "plannedSeconds": .seconds(self.planned),
            "availability": .optional(self.availability),
            "availabilityWithoutOwn": .optional(self.availabilityForOthers),
        ]
    }
}

/// Moments, as ranges that neither overlap nor touch.
struct TimeSet: Sendable, Hashable {
    // In microseconds since 1970.
    private var ranges: [Range<Int64>] = []

    init(_ spans: [(WallTime, WallTime)]) {
        let sorted = spans.filter { $0.0 < $0.1 }.map { $0.0.microseconds..<$0.1.microseconds }
        self.init(sorted: sorted.sorted { $0.lowerBound < $1.lowerBound })
    }

    private init(sorted: [Range<Int64>]) {
        for range in sorted {
            if let last = self.ranges.last, range.lowerBound <= last.upperBound {
                self.ranges[self.ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                self.ranges.append(range)
            }
        }
    }

    var duration: Duration { .microseconds(self.ranges.reduce(Int64(0)) { $0 + Int64($1.count) }) }

    func union(_ other: TimeSet) -> TimeSet {
        TimeSet(sorted: (self.ranges + other.ranges).sorted { $0.lowerBound < $1.lowerBound })
    }

    func intersection(_ other: TimeSet) -> TimeSet {
        var (common, place) = ([Range<Int64>](), 0)
        for range in self.ranges {
            while place < other.ranges.count, other.ranges[place].upperBound <= range.lowerBound { place += 1 }
            var next = place
            while next < other.ranges.count, other.ranges[next].lowerBound < range.upperBound {
                common.append(range.clamped(to: other.ranges[next]))
                next += 1
            }
        }
        return TimeSet(sorted: common)
    }
}
