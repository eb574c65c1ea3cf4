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

    /// A list has ended, and what it showed is known from now on; says of which remotes connections hang no more.
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
        struct Stall {
            var count = 0
            var nextTry: MonotonicTime
        }

        var counts: [ConnectionStatistics.State: Int] = [:]
        var stalls: [ConnectionStall: Stall] = [:]
    }

    // As of the last lists that were not refused, and what the present one has shown so far.
    private var shown = Shown()
    private var listing = Shown()
    private var stallTimes = StallTimes()
    /// When it answered last.
    private(set) var answered: MonotonicTime?
    private(set) var shortestRoundTrip: Duration?
    private(set) var owners = RemoteOwners()
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
        self.owners.beginList(of: states)
        for state in states { self.listing.counts[state] = nil }
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
        if let owner { self.owners.add(owner, of: state) }
        guard let stall else { return }
        let next = now + stall.nextTry
        var shown = self.listing.stalls[stall.kind] ?? Shown.Stall(nextTry: next)
        shown.count += 1
        shown.nextTry = min(shown.nextTry, next)
        self.listing.stalls[stall.kind] = shown
        self.stallTimes.add(stall, at: now)
    }

    /// A list has ended; says what became of connections that hung before it, nil if they still do or nobody knows yet.
    ///
    /// Only after a list of the established ones is it known that there is none.
    mutating func endList(isEstablished: Bool, at now: MonotonicTime) -> StallEnd? {
        self.shown = self.listing
        self.owners.endList()
        let end = self.stallTimes.endList(
            isEstablished: isEstablished, count: self.count, Set(self.shown.stalls.keys), answered: self.answered,
            at: now)
        if end != nil { self.party = nil }
        return end
    }

    /// The remote answered `ago`.
    mutating func answer(_ ago: Duration, roundTrip: Duration?, at now: MonotonicTime) {
        let moment = now - ago
        self.answered = max(self.answered ?? moment, moment)
        guard let roundTrip else { return }
        self.shortestRoundTrip = min(self.shortestRoundTrip ?? roundTrip, roundTrip)
    }
}
