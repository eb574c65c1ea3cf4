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

    private struct Pending {
        let remote: Remote
        let outcome: ConnectionOutcome
        let moment: MonotonicTime
    }

    private static let pendingLimit = 4096

    private var pending: [IPAddress: [Pending]] = [:]
    private var pendingCount = 0
    private var reporter = FailureReporter()
    private var pathChanges: [AddressFamily: MonotonicTime] = [:]
    private var resets = RecentResets()

    /// The host's path of a family changed.
    mutating func pathChanged(_ family: AddressFamily, at now: MonotonicTime) { self.pathChanges[family] = now }

    /// A connection failed; decided at once if the route is known, else once it is.
    mutating func add(
        _ remote: Remote, _ outcome: ConnectionOutcome, _ state: Surroundings, at now: MonotonicTime
    ) -> Decided? {
        guard let verdict = state.verdict else {
            // Of more than can wait it is decided by what is known now.
            guard self.pendingCount < Self.pendingLimit else {
                return self.decide(Pending(remote: remote, outcome: outcome, moment: now), .unknown, state, at: now)
            }
            self.pendingCount += 1
            self.pending[remote.address, default: []].append(Pending(remote: remote, outcome: outcome, moment: now))
            return nil
        }
        return self.decide(Pending(remote: remote, outcome: outcome, moment: now), verdict, state, at: now)
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
