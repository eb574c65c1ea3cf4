internal import TidegateCore

/// The state of each remote; beyond the limit, the remotes silent for longest are dropped.
struct RemoteTable {
    private static let limit = 8192

    private(set) var entries: [Remote: RemoteEntry] = [:]

    /// Handles the start of a list: its counts start again.
    mutating func beginList(of states: Set<ConnectionStatistics.State>) {
        self.changeAll { $1.beginList(of: states) }
    }

    /// Handles the end of a list, which publishes its counts; returns the remotes whose connections no longer hang.
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

    /// Calls `body` to change the state of a remote.
    mutating func update(_ remote: Remote, at now: MonotonicTime, _ body: (inout RemoteEntry) -> Void) {
        if self.entries[remote] == nil, self.entries.count >= Self.limit { self.forgetOldest() }
        body(&self.entries[remote, default: RemoteEntry(at: now)])
        self.entries[remote]?.lastSeen = now
    }

    /// Drops the remotes without a connection that were silent for five minutes.
    mutating func prune(at now: MonotonicTime) {
        self.entries = self.entries.filter { $1.count > 0 || now - $1.lastSeen < OutcomeWindow.length }
    }

    // An eighth at a time, because finding them takes as long as finding one. Hanging ones go last.
    private mutating func forgetOldest() {
        let oldest = self.entries.sorted { left, right in
            guard left.value.isStalled == right.value.isStalled else { return right.value.isStalled }
            return left.value.lastSeen < right.value.lastSeen
        }.prefix(Self.limit / 8)
        for (remote, _) in oldest { self.entries[remote] = nil }
    }
}

/// The state of one remote.
struct RemoteEntry {
    // What lists showed of its connections.
    private struct Shown {
        var counts: [ConnectionStatistics.State: Int] = [:]
        var stalls: [ConnectionStall: (count: Int, nextTry: MonotonicTime)] = [:]
        // At most eight of each state: a report names owners, it does not list every connection.
        var owners: [ConnectionStatistics.State: [RemoteReport.Owner]] = [:]
    }

    private static let ownerLimit = 8

    // From the last lists that were not refused, and from the current one so far.
    private var shown = Shown()
    private var listing = Shown()
    private var stallTimes = StallTimes()
    /// When it answered last.
    private(set) var answered: MonotonicTime?
    private(set) var shortestRoundTrip: Duration?
    /// The owners of its connections, or of the last ones.
    private(set) var owners: [RemoteReport.Owner] = []
    var sentSegments: UInt64 = 0
    var retransmittedSegments: UInt64 = 0
    // Of the last interval that is over, and of the one that began at the time.
    private var limits = (last: FlowLimits(), now: FlowLimits(), start: MonotonicTime?.none)
    var outcomes = OutcomeWindow()
    /// When it last accepted or refused a connection, as lists and endings showed it; nil if it never did.
    var opened: MonotonicTime?
    /// Whether packets that open a connection to it do not leave this host.
    var isKeptHere = false
    /// The party responsible for its hanging connections; nil if none hangs.
    var party: FaultParty?
    var lastSeen: MonotonicTime

    init(at now: MonotonicTime) { self.lastSeen = now }

    /// The number of its connections by state.
    var counts: [ConnectionStatistics.State: Int] { self.shown.counts }
    /// The number of hanging connections by kind.
    var stalled: [ConnectionStall: Int] { self.shown.stalls.mapValues(\.count) }
    /// When the kernel next retransmits; nil if none hangs.
    var nextTry: MonotonicTime? { self.shown.stalls.values.map(\.nextTry).min() }
    /// The number of its connections.
    var count: Int { self.shown.counts.values.reduce(0, +) }
    var isStalled: Bool { !self.shown.stalls.isEmpty }

    /// Since when hanging connections have received nothing; nil if there are none.
    ///
    /// A program that does not read does not make its host silent.
    var silentSince: MonotonicTime? {
        guard self.shown.stalls.keys.contains(where: { $0 != .window }) else { return nil }
        return self.stallTimes.silentSince
    }

    /// Handles the start of a list: its counts start again and become visible when it ends.
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

    /// Handles the end of a list; returns how a stall ended, or nil if it continues or its end is not known yet.
    ///
    /// Only a list of established connections proves that none hangs.
    mutating func endList(isEstablished: Bool, at now: MonotonicTime) -> StallEnd? {
        // The owners of the last connections remain useful after these have ended.
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

    private static let limitInterval = Duration.seconds(60)

    /// What held its connections back in the last one or two minutes; nil if they had little to send.
    func limitedBy(at now: MonotonicTime) -> FlowLimit? {
        guard let start = self.limits.start, now - start < Self.limitInterval * 2 else { return nil }
        var sum = self.limits.last
        sum += self.limits.now
        return sum.main
    }

    /// Records what held a connection back since the last list.
    mutating func add(_ limits: FlowLimits, at now: MonotonicTime) {
        let start = self.limits.start ?? now
        if now - start >= Self.limitInterval {
            self.limits = (now - start < Self.limitInterval * 2 ? self.limits.now : FlowLimits(), FlowLimits(), now)
        } else if self.limits.start == nil {
            self.limits.start = now
        }
        self.limits.now += limits
    }

    /// Records that the remote answered `ago`.
    mutating func answer(_ ago: Duration, roundTrip: Duration?, at now: MonotonicTime) {
        let moment = now - ago
        self.answered = max(self.answered ?? moment, moment)
        guard let roundTrip else { return }
        self.shortestRoundTrip = min(self.shortestRoundTrip ?? roundTrip, roundTrip)
    }
}

/// How a stall ended.
enum StallEnd {
    /// The remote has answered since.
    case answered
    /// The connections have ended or were given up.
    case gone
}

/// Since when connections to a remote hang, including the pauses in which a program retries.
struct StallTimes {
    // A hanging connection began to hang at about its last answer. A later answer comes later than the time it takes to
    // detect a stall.
    private static let tolerance = Duration.seconds(1)
    // A program that keeps retrying does so within a minute.
    private static let longestPause = Duration.seconds(60)

    private var since: [ConnectionStall: MonotonicTime] = [:]
    // When a list last showed a hanging connection.
    private var lastShown: MonotonicTime?

    /// Since when nothing has come back; a program that does not read does not make its host silent.
    var silentSince: MonotonicTime? { self.since.filter { $0.key != .window }.values.min() }

    /// Handles a listed connection that hangs.
    mutating func add(_ stall: StallFinding, at now: MonotonicTime) {
        let since = now - stall.age
        self.since[stall.kind] = min(self.since[stall.kind] ?? since, since)
    }

    /// Handles the end of a list of established or other connections, with their number and the kinds of stalls
    /// `shown`.
    ///
    /// Returns how a stall ended; nil if it continues or its end is not known yet.
    mutating func endList(
        isEstablished: Bool, count: Int, _ shown: Set<ConnectionStall>, answered: MonotonicTime?, at now: MonotonicTime
    ) -> StallEnd? {
        if !shown.isEmpty { self.lastShown = now }
        guard !self.since.isEmpty else { return nil }
        // A program that retries hangs once: giving up in between is not a recovery.
        self.since = self.since.filter { kind, since in
            shown.contains(kind) || !(answered.map { $0 - since > Self.tolerance } ?? false)
        }
        if self.since.isEmpty { return .answered }
        // The remaining connections are idle: the hanging one ended unseen and was not retried.
        let hasPaused = self.lastShown.map { now - $0 >= Self.longestPause } ?? true
        guard isEstablished, shown.isEmpty, count == 0 || hasPaused else { return nil }
        self.since = [:]
        return .gone
    }
}

/// The outcomes of a remote's connections in the last five minutes, counted in intervals.
///
/// Thousands of remotes have one. Only what happened takes memory: 8 bytes for each interval, outcome and party, for at
/// most ``limit`` of them.
struct OutcomeWindow {
    /// Older tallies are dropped.
    static let length = RemoteReport.Interval.length * Int(intervals)
    /// Four per interval, twice the need of a busy failing remote; beyond that the oldest are dropped.
    static let limit = 4 * Int(intervals)

    private static let intervals: UInt32 = 30

    /// The count of one outcome and party in one interval.
    struct Tally {
        /// The number of the interval since the clock's start.
        let interval: UInt32
        var count: UInt16
        let outcome: ConnectionOutcome
        /// The responsible party; nil if the outcome is not a failure or is undecided.
        let party: FaultParty?
    }

    /// The oldest interval first.
    private(set) var tallies: [Tally] = []

    /// Adds the outcome of a connection.
    mutating func add(_ outcome: ConnectionOutcome, at now: MonotonicTime) {
        let interval = Self.interval(of: now)
        if self.tallies.last?.interval != interval { self.tallies.removeAll { !Self.isRecent($0, interval) } }
        self.count(outcome, nil, in: interval, at: self.tallies.endIndex)
    }

    /// Attributes an outcome of `moment` to a party; does nothing if that outcome was dropped.
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

    // If no tally has room, the new one goes to the given place, which has the same interval.
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

    /// The parties of the failures of the last five minutes.
    func failures(at now: MonotonicTime) -> [ConnectionOutcome: [FaultParty: Int]] {
        self.recent(at: now).reduce(into: [:]) { sum, tally in
            guard let party = tally.party else { return }
            sum[tally.outcome, default: [:]][party, default: 0] += Int(tally.count)
        }
    }

    /// The intervals of the last five minutes with any outcome, oldest first.
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
