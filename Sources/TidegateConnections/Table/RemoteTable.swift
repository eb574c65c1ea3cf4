internal import TidegateCore
internal import TidegateNetwork

/// What is known of each remote; of too many, those that were not heard of for longest are forgotten.
struct RemoteTable {
    private static let limit = 8192

    private(set) var entries: [Remote: RemoteEntry] = [:]

    /// A list begins: what it counts starts again.
    mutating func beginList(of states: Set<ConnectionStatistics.State>) {
        for remote in self.entries.keys { self.entries[remote]?.beginList(of: states) }
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

    // An eighth at a time, because looking for them takes as long as for one.
    private mutating func forgetOldest() {
        let oldest = self.entries.sorted { $0.value.lastSeen < $1.value.lastSeen }.prefix(Self.limit / 8)
        for (remote, _) in oldest { self.entries[remote] = nil }
    }
}

/// What became of connections that hung.
enum StallEnd {
    /// The remote has answered since.
    case answered
    /// They have ended, or were given up.
    case gone
}

/// What is known of one remote.
struct RemoteEntry {
    // People want to know who, not to read a list.
    private static let ownerLimit = 8
    // What hangs began to at about its last answer; whatever answers after that does so later than it takes to hang.
    private static let tolerance = Duration.seconds(1)

    private(set) var counts: [ConnectionStatistics.State: Int] = [:]
    private(set) var stalled: [ConnectionStall: Int] = [:]
    /// Since when connections hang; nil if none does.
    private(set) var stalledSince: MonotonicTime?
    /// When the kernel sends again next.
    private(set) var nextTry: MonotonicTime?
    /// When it answered last.
    private(set) var answered: MonotonicTime?
    private(set) var shortestRoundTrip: Duration?
    private(set) var owners: [RemoteReport.Owner] = []
    var sentSegments: UInt64 = 0
    var retransmittedSegments: UInt64 = 0
    var outcomes = OutcomeWindow()
    /// Whose failure it is that its connections hang; nil if none does.
    var party: FaultParty?
    var lastSeen: MonotonicTime

    init(at now: MonotonicTime) { self.lastSeen = now }

    /// How many connections it has.
    var count: Int { self.counts.values.reduce(0, +) }
    var isStalled: Bool { !self.stalled.isEmpty }

    mutating func beginList(of states: Set<ConnectionStatistics.State>) {
        for state in states { self.counts[state] = nil }
        if states.contains(.connecting) { self.stalled[.connecting] = nil }
        if states.contains(.established) { (self.stalled[.unanswered], self.stalled[.window]) = (nil, nil) }
        if self.stalled.isEmpty { self.nextTry = nil }
    }

    /// A list showed a connection.
    mutating func add(
        _ state: ConnectionStatistics.State, _ stall: StallFinding?, owner: RemoteReport.Owner?, at now: MonotonicTime
    ) {
        self.counts[state, default: 0] += 1
        if let owner, !self.owners.contains(owner), self.owners.count < Self.ownerLimit { self.owners.append(owner) }
        guard let stall else { return }
        self.stalled[stall.kind, default: 0] += 1
        let since = now - stall.age
        self.stalledSince = min(self.stalledSince ?? since, since)
        let next = now + stall.nextTry
        self.nextTry = min(self.nextTry ?? next, next)
    }

    /// A list has ended; says what became of connections that hung before it, nil if they still do or nobody knows yet.
    ///
    /// Only after a list of the established ones is it known that there is none.
    mutating func endList(isEstablished: Bool) -> StallEnd? {
        guard self.stalled.isEmpty, let since = self.stalledSince else { return nil }
        let hasAnswered = self.answered.map { $0 - since > Self.tolerance } ?? false
        // A program that tries again and again hangs once: that it gave up in between is no recovery.
        guard hasAnswered || isEstablished && self.count == 0 else { return nil }
        self.stalledSince = nil
        self.party = nil
        return hasAnswered ? .answered : .gone
    }

    /// The remote answered `ago`.
    mutating func answer(_ ago: Duration, roundTrip: Duration?, at now: MonotonicTime) {
        let moment = now - ago
        self.answered = max(self.answered ?? moment, moment)
        guard let roundTrip else { return }
        self.shortestRoundTrip = min(self.shortestRoundTrip ?? roundTrip, roundTrip)
    }
}

/// How many connections of a remote ended how in the last five minutes, counted by the minute.
struct OutcomeWindow {
    static let length = Duration.seconds(300)
    private static let minute = Duration.seconds(60)

    private struct Minute {
        let start: MonotonicTime
        var counts: [ConnectionOutcome: Int] = [:]
        var failures: [ConnectionOutcome: [FaultParty: Int]] = [:]
    }

    private var minutes: [Minute] = []

    mutating func add(_ outcome: ConnectionOutcome, at now: MonotonicTime) {
        self.begin(at: now)
        self.minutes[self.minutes.count - 1].counts[outcome, default: 0] += 1
    }

    /// It is decided whose failure an outcome was.
    mutating func attribute(_ outcome: ConnectionOutcome, to party: FaultParty, at now: MonotonicTime) {
        self.begin(at: now)
        self.minutes[self.minutes.count - 1].failures[outcome, default: [:]][party, default: 0] += 1
    }

    private mutating func begin(at now: MonotonicTime) {
        guard self.minutes.last.map({ now - $0.start >= Self.minute }) ?? true else { return }
        self.minutes.append(Minute(start: now))
        self.minutes.removeAll { now - $0.start >= Self.length }
    }

    /// The counts of the last five minutes.
    func counts(at now: MonotonicTime) -> [ConnectionOutcome: Int] {
        self.minutes.filter { now - $0.start < Self.length }.reduce(into: [:]) { sum, minute in
            sum.merge(minute.counts, uniquingKeysWith: +)
        }
    }

    /// Whose failures those of the last five minutes were.
    func failures(at now: MonotonicTime) -> [ConnectionOutcome: [FaultParty: Int]] {
        self.minutes.filter { now - $0.start < Self.length }.reduce(into: [:]) { sum, minute in
            sum.merge(minute.failures) { $0.merging($1, uniquingKeysWith: +) }
        }
    }
}

extension MonotonicTime {
    /// The moment `duration` earlier.
    fileprivate static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime { time + (.zero - duration) }
}
