internal import TidegateCore
internal import TidegateNetwork

/// What is known of each remote; of too many, those that were not heard of for longest are forgotten.
struct RemoteTable {
    private static let limit = 8192

    private(set) var entries: [Remote: RemoteEntry] = [:]

    /// A list begins: what it counts starts again.
    mutating func beginList(of states: Set<ConnectionStatistics.State>) {
        self.changeAll { $1.beginList(of: states) }
    }

    /// Ends a list, whose content is known from now on; returns the remotes whose connections no longer hang.
    mutating func endList(isEstablished: Bool, at now: MonotonicTime) -> [Remote: StallEnd] {
        var ends: [Remote: StallEnd] = [:]
        self.changeAll { remote, entry in
            if let end = entry.endList(isEstablished: isEstablished, at: now) { ends[remote] = end }
        }
        return ends
    }

    // In place: a loop over the dictionary would copy it.
    private mutating func changeAll(_ body: (Remote, inout RemoteEntry) -> Void) {
        var index = self.entries.startIndex
        while index != self.entries.endIndex {
            body(self.entries[index].key, &self.entries.values[index])
            self.entries.formIndex(after: &index)
        }
    }

    /// Calls `body` with what is known of a remote, to change it.
    mutating func update(_ remote: Remote, at now: MonotonicTime, _ body: (inout RemoteEntry) -> Void) {
        if self.entries[remote] == nil, self.entries.count >= Self.limit { self.forgetOldest() }
        body(&self.entries[remote, default: RemoteEntry(at: now)])
        self.entries[remote]?.lastSeen = now
    }

    /// Forgets the remotes without a connection that were not heard of for five minutes.
    mutating func prune(at now: MonotonicTime) {
        self.entries = self.entries.filter { $1.count > 0 || now - $1.lastSeen < OutcomeWindow.length }
    }

    // An eighth at a time, because looking for them takes as long as for one. Those that hang go last.
    private mutating func forgetOldest() {
        let oldest = self.entries.sorted { left, right in
            guard left.value.isStalled == right.value.isStalled else { return right.value.isStalled }
            return left.value.lastSeen < right.value.lastSeen
        }.prefix(Self.limit / 8)
        for (remote, _) in oldest { self.entries[remote] = nil }
    }
}

/// What is known of one remote.
struct RemoteEntry {
    // What lists showed of its connections.
    private struct Shown {
        var counts: [ConnectionStatistics.State: Int] = [:]
        var stalls: [ConnectionStall: (count: Int, nextTry: MonotonicTime)] = [:]
        // Eight of each state at most: people want to know who, not to read a list.
        var owners: [ConnectionStatistics.State: [RemoteReport.Owner]] = [:]
    }

    private static let ownerLimit = 8

    // As of the last lists that were not refused, and what the present one has shown so far.
    private var shown = Shown()
    private var listing = Shown()
    private var stallTimes = StallTimes()
    /// When it answered last.
    private(set) var answered: MonotonicTime?
    private(set) var shortestRoundTrip: Duration?
    /// Who has its connections, or who had the last ones.
    private(set) var owners: [RemoteReport.Owner] = []
    var sentSegments: UInt64 = 0
    var retransmittedSegments: UInt64 = 0
    var outcomes = OutcomeWindow()
    /// Whose failure it is that its connections hang; nil if none does.
    var party: FaultParty?
    var lastSeen: MonotonicTime

    init(at now: MonotonicTime) { self.lastSeen = now }

    /// How many connections it has, by their state.
    var counts: [ConnectionStatistics.State: Int] { self.shown.counts }
    /// How many of them hang in which way.
    var stalled: [ConnectionStall: Int] { self.shown.stalls.mapValues(\.count) }
    /// When the kernel sends again next; nil if nothing hangs.
    var nextTry: MonotonicTime? { self.shown.stalls.values.map(\.nextTry).min() }
    /// How many connections it has.
    var count: Int { self.shown.counts.values.reduce(0, +) }
    var isStalled: Bool { !self.shown.stalls.isEmpty }

    /// Since when nothing has come back on connections that hang; nil if there are none.
    ///
    /// That a program does not read is no silence of its host.
    var silentSince: MonotonicTime? {
        guard self.shown.stalls.keys.contains(where: { $0 != .window }) else { return nil }
        return self.stallTimes.silentSince
    }

    /// A list begins: what it counts starts again, and is known once it ends.
    mutating func beginList(of states: Set<ConnectionStatistics.State>) {
        self.listing = self.shown
        for state in states { (self.listing.counts[state], self.listing.owners[state]) = (nil, nil) }
        if states.contains(.connecting) { self.listing.stalls[.connecting] = nil }
        if states.contains(.established) {
            (self.listing.stalls[.unanswered], self.listing.stalls[.window]) = (nil, nil)
        }
    }

    /// A list showed a connection.
    mutating func add(
        _ state: ConnectionStatistics.State, _ stall: StallFinding?, owner: RemoteReport.Owner?, at now: MonotonicTime
    ) {
        self.listing.counts[state, default: 0] += 1
        if let owner { self.add(owner, of: state) }
        guard let stall else { return }
        let next = now + stall.nextTry
        var shown = self.listing.stalls[stall.kind] ?? (0, next)
        shown.count += 1
        shown.nextTry = min(shown.nextTry, next)
        self.listing.stalls[stall.kind] = shown
        self.stallTimes.add(stall, at: now)
    }

    private mutating func add(_ owner: RemoteReport.Owner, of state: ConnectionStatistics.State) {
        let owners = self.listing.owners[state] ?? []
        guard !owners.contains(owner), owners.count < Self.ownerLimit else { return }
        self.listing.owners[state] = owners + [owner]
    }

    /// Ends a list; returns the result of connections that hung before it, nil if they still hang or the result is not
    /// known yet.
    ///
    /// Only a list of the established connections proves that none hangs.
    mutating func endList(isEstablished: Bool, at now: MonotonicTime) -> StallEnd? {
        // Who had the last connections is worth knowing once they have ended.
        if self.shown.owners != self.listing.owners, !self.listing.owners.isEmpty { self.setOwners() }
        self.shown = self.listing
        let end = self.stallTimes.endList(
            isEstablished: isEstablished, count: self.count, Set(self.shown.stalls.keys), answered: self.answered,
            at: now)
        if end != nil { self.party = nil }
        return end
    }

    private mutating func setOwners() {
        let owners = self.listing.owners.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap(\.value)
        self.owners = owners.reduce(into: []) { if !$0.contains($1), $0.count < Self.ownerLimit { $0.append($1) } }
    }

    /// The remote answered `ago`.
    mutating func answer(_ ago: Duration, roundTrip: Duration?, at now: MonotonicTime) {
        let moment = now - ago
        self.answered = max(self.answered ?? moment, moment)
        guard let roundTrip else { return }
        self.shortestRoundTrip = min(self.shortestRoundTrip ?? roundTrip, roundTrip)
    }
}

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
    /// Returns the result of those that hung before it; nil if they still hang, or the result is not known yet.
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
        // Those that are left are idle: what hung has ended unseen, and was not tried again.
        let hasPaused = self.lastShown.map { now - $0 >= Self.longestPause } ?? true
        guard isEstablished, shown.isEmpty, count == 0 || hasPaused else { return nil }
        self.since = [:]
        return .gone
    }
}

extension MonotonicTime {
    /// The moment `duration` earlier.
    static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime { time + (.zero - duration) }
}

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

    // If no tally has room yet, the new one goes to the given place, which has the same interval.
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
