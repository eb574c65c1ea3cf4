internal import TidegateAttribution
internal import TidegateCore

/// Attributes the failures of ended connections once their route is known, and creates their events.
struct FailureAttribution {
    /// A failure with its responsible party.
    struct Decided {
        let remote: Remote
        let outcome: ConnectionOutcome
        let party: FaultParty
        /// The time of the failure.
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

    /// Records that the host's path of a family changed.
    mutating func pathChanged(_ family: AddressFamily, at now: MonotonicTime) { self.pathChanges[family] = now }

    /// Adds a failed connection; its party is decided immediately if the route is known, else when it becomes known.
    mutating func add(
        _ remote: Remote, _ outcome: ConnectionOutcome, _ state: Surroundings, at now: MonotonicTime
    ) -> Decided? {
        let failure = (remote, outcome, now)
        // At the limit, the failure is decided by what is known now.
        guard let verdict = state.verdict ?? (self.pendingCount < Self.pendingLimit ? nil : .unknown) else {
            self.pendingCount += 1
            self.pending[remote.address, default: []].append(failure)
            return nil
        }
        return self.decide(failure, verdict, state, at: now)
    }

    /// Decides the failures that waited for the route to an address.
    mutating func routed(_ address: IPAddress, _ state: Surroundings, at now: MonotonicTime) -> [Decided] {
        let pending = self.pending.removeValue(forKey: address) ?? []
        self.pendingCount -= pending.count
        guard let verdict = state.verdict else { return [] }
        return pending.map { self.decide($0, verdict, state, at: now) }
    }

    /// Whether connections to an address failed in silence and still wait for its route.
    func isAnySilent(at address: IPAddress) -> Bool {
        self.pending[address]?.contains { $0.outcome.isSilence } ?? false
    }

    /// The due events of failures.
    mutating func flush(at now: MonotonicTime) -> [ConnectionEvent] { self.reporter.flush(at: now) }

    /// The circumstances of a failure.
    struct Surroundings {
        /// What the kernel would do with a packet to the remote; nil while unknown.
        var verdict: Verdict?
        /// The next hop to the remote; nil while unknown.
        var nextHop: NextHop?
        /// What the other remotes behind the next hop show; nil while unknown.
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

/// Remotes that recently reset connections of this host's programs, by the gateway on the path to them.
///
/// A middlebox that loses its state resets the connections of many remotes together. Connections opened by remotes are
/// no evidence of that, because clients reset connections at will. Neither are connections to hosts on this host's own
/// links, which pass no middlebox.
struct RecentResets {
    private static let hopLimit = 256

    // The latest resets of each next hop, at most as many as the rule needs.
    private var resets: [NextHop: [(address: IPAddress, moment: MonotonicTime)]] = [:]

    /// Adds a reset by a remote behind a next hop.
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

    /// How many remotes behind a next hop reset connections within the second before `moment`, up to the number that
    /// the rule needs.
    func count(behind nextHop: NextHop, at moment: MonotonicTime) -> Int {
        self.resets[nextHop]?.count { Self.isRecent($0.moment, at: moment) } ?? 0
    }

    private static func isRecent(_ reset: MonotonicTime, at moment: MonotonicTime) -> Bool {
        moment < reset + Thresholds.resetWindow
    }
}

/// Coalesces failure events: the first of a kind immediately, then one every ten seconds with their count.
struct FailureCoalescer: Sendable {
    private struct Key: Hashable {
        let remote: Remote
        let outcome: ConnectionOutcome
    }

    private static let interval = Duration.seconds(10)
    // Scans and floods must not grow the table without limit.
    private static let limit = 1024

    private var runs: [Key: (reported: MonotonicTime, count: Int, party: FaultParty)] = [:]

    /// Adds a failure; returns the event if it is the first of its kind.
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
    /// The failure that the end of a connection shows, given the current verdict for its remote; nil if it is not a
    /// failure.
    init?(_ outcome: ConnectionOutcome, by verdict: Verdict) {
        guard outcome.isFailure else { return nil }
        self.init(failure: .connectFailed, before: verdict, after: verdict)
        self.isOfThisPath = true
        switch outcome {
        case .refused: self.socketError = .refused
        case .reset: self.socketError = .reset
        case .unreachable: self.socketError = .hostUnreachable
        // This host itself reported that the next hop was not found on its link.
        case .notSent where verdict.path != nil: self.refusal = ICMPError(offender: nil, type: 3, code: 1)
        case .noAnswer, .lost: self.failure = .timedOut
        case .notSent, .established, .abandoned, .closed, .aborted: break
        }
    }
}
