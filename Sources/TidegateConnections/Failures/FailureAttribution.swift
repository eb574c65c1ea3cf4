internal import TidegateAttribution
internal import TidegateCore

/// Decides whose failure ended connections were, once their route is known, and makes their events.
struct FailureAttribution {
    /// A failure whose party is decided.
    struct Decided {
        let remote: Remote
        let outcome: ConnectionOutcome
        let party: FaultParty
        /// When it was.
        let moment: MonotonicTime
        /// The event, if it is the first of its kind.
        let event: ConnectionEvent?
    }

    private typealias Pending = (remote: Remote, outcome: ConnectionOutcome, moment: MonotonicTime)

    private static let pendingLimit = 4096

    private var pending: [IPAddress: [Pending]] = [:]
    private var pendingCount = 0
    private var reporter = FailureCoalescer()
    private var pathChanges: [AddressFamily: MonotonicTime] = [:]
    private var resets = RecentResets()

    /// The host's path of a family changed.
    mutating func pathChanged(_ family: AddressFamily, at now: MonotonicTime) { self.pathChanges[family] = now }

    /// A connection failed; decided at once if the route is known, else once it is.
    mutating func add(
        _ remote: Remote, _ outcome: ConnectionOutcome, _ state: Surroundings, at now: MonotonicTime
    ) -> Decided? {
        let failure = (remote, outcome, now)
        // Of more than can wait it is decided by what is known now.
        guard let verdict = state.verdict ?? (self.pendingCount < Self.pendingLimit ? nil : .unknown) else {
            self.pendingCount += 1
            self.pending[remote.address, default: []].append(failure)
            return nil
        }
        return self.decide(failure, verdict, state, at: now)
    }

    /// The route to an address is known now.
    mutating func routed(_ address: IPAddress, _ state: Surroundings, at now: MonotonicTime) -> [Decided] {
        let pending = self.pending.removeValue(forKey: address) ?? []
        self.pendingCount -= pending.count
        guard let verdict = state.verdict else { return [] }
        return pending.map { self.decide($0, verdict, state, at: now) }
    }

    /// Whether connections to an address failed because nothing came back, and wait for its route.
    func isAnySilent(at address: IPAddress) -> Bool {
        self.pending[address]?.contains { $0.outcome.isSilence } ?? false
    }

    /// The events of failures that are due.
    mutating func flush(at now: MonotonicTime) -> [ConnectionEvent] { self.reporter.flush(at: now) }

    /// What is known around a failure.
    struct Surroundings {
        /// What the kernel would do with a packet to the remote; nil while that is not known.
        var verdict: Verdict?
        /// The next hop to the remote; nil while it is not known.
        var nextHop: NextHop?
        /// What the other remotes behind it show; nil while that is not known.
        var remotes: RemotesEvidence?
    }

    private mutating func decide(
        _ failure: Pending, _ verdict: Verdict, _ state: Surroundings, at now: MonotonicTime
    ) -> Decided {
        let (remote, outcome) = (failure.remote, failure.outcome)
        var evidence = FailureEvidence(outcome, by: verdict)
        evidence?.isSettling =
            self.pathChanges[remote.address.family].map { now - $0 < Thresholds.settleTime } ?? false
        evidence?.remotes = state.remotes
        if outcome == .reset, let nextHop = state.nextHop {
            self.resets.add(remote, behind: nextHop, at: failure.moment)
            evidence?.areManyReset =
                self.resets.count(behind: nextHop, at: failure.moment) >= Thresholds.manyResets
        }
        let party = evidence.map(DecisionTable.party) ?? .unknown
        return Decided(
            remote: remote, outcome: outcome, party: party, moment: failure.moment,
            event: self.reporter.add(remote, outcome, party, at: now))
    }
}

/// The remotes that reset connections of this host's programs a moment ago, by the gateway on the way to them.
///
/// A middlebox that forgets its connections resets those of many remotes at once. Connections that remotes opened say
/// nothing of it, because clients reset them as they like. Nor do those to hosts on this host's own links: no middlebox
/// stands on the way.
struct RecentResets {
    private static let hopLimit = 256

    // The last of each next hop, as many as decide.
    private var resets: [NextHop: [(address: IPAddress, moment: MonotonicTime)]] = [:]

    /// A remote behind a next hop reset a connection.
    mutating func add(_ remote: Remote, behind nextHop: NextHop, at moment: MonotonicTime) {
        guard remote.direction == .outgoing, nextHop.gateway != nil else { return }
        if self.resets[nextHop] == nil, self.resets.count >= Self.hopLimit {
            self.resets = self.resets.filter { _, resets in resets.contains { Self.isRecent($0.moment, at: moment) } }
        }
        var resets = self.resets[nextHop] ?? []
        resets.removeAll { $0.address == remote.address }
        resets.append((remote.address, moment))
        self.resets[nextHop] = resets.suffix(Thresholds.manyResets)
    }

    /// How many remotes behind a next hop reset connections within the second before `moment`; as many as decide.
    func count(behind nextHop: NextHop, at moment: MonotonicTime) -> Int {
        self.resets[nextHop]?.count { Self.isRecent($0.moment, at: moment) } ?? 0
    }

    private static func isRecent(_ reset: MonotonicTime, at moment: MonotonicTime) -> Bool {
        moment < reset + Thresholds.resetWindow
    }
}

/// Makes events of failures: of those that are alike the first one at once, then one every ten seconds with their number.
struct FailureCoalescer: Sendable {
    private struct Key: Hashable {
        let remote: Remote
        let outcome: ConnectionOutcome
    }

    private static let interval = Duration.seconds(10)
    // What scans or floods make must not grow without an end.
    private static let limit = 1024

    private var runs: [Key: (reported: MonotonicTime, count: Int, party: FaultParty)] = [:]

    /// A connection failed; the event, if it is the first of its kind.
    mutating func add(
        _ remote: Remote, _ outcome: ConnectionOutcome, _ party: FaultParty, at now: MonotonicTime
    ) -> ConnectionEvent? {
        let key = Key(remote: remote, outcome: outcome)
        guard self.runs[key] == nil else {
            self.runs[key]?.count += 1
            self.runs[key]?.party = party
            return nil
        }
        guard self.runs.count < Self.limit else { return nil }
        self.runs[key] = (now, 0, party)
        return .failed(ConnectionEvent.Failure(remote, outcome, party: party, count: 1))
    }

    /// The events that are due.
    mutating func flush(at now: MonotonicTime) -> [ConnectionEvent] {
        var events: [ConnectionEvent] = []
        for (key, run) in self.runs where now - run.reported >= Self.interval {
            guard run.count > 0 else {
                self.runs[key] = nil
                continue
            }
            events.append(
                .failed(ConnectionEvent.Failure(key.remote, key.outcome, party: run.party, count: run.count)))
            self.runs[key] = (now, 0, run.party)
        }
        return events
    }
}

extension FailureEvidence {
    /// What the end of a connection says, and what the kernel would do with a packet to its remote now; nil if it is no
    /// failure.
    init?(_ outcome: ConnectionOutcome, by verdict: Verdict) {
        guard outcome.isFailure else { return nil }
        self.init(failure: .connectFailed, before: verdict, after: verdict)
        self.isOfThisPath = true
        switch outcome {
        case .refused: self.socketError = .refused
        case .reset: self.socketError = .reset
        case .unreachable: self.socketError = .hostUnreachable
        // The next hop was not found on its link, which this host says itself.
        case .notSent where verdict.path != nil: self.refusal = ICMPError(offender: nil, type: 3, code: 1)
        case .noAnswer, .lost: self.failure = .timedOut
        case .notSent, .established, .abandoned, .closed, .aborted: break
        }
    }
}
