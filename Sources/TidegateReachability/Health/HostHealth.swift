internal import TidegateAttribution
internal import TidegateCore

/// The knowledge about this host's way out: takes evidence, decides what it means, and says what to ask next.
///
/// An input that comes late, twice, or for a path that is gone changes nothing.
struct HostHealth {
    typealias Moment = StandingDiagnosis.Moment

    enum Input: Sendable {
        case traffic(TrafficEvidence)
        /// A client reads the diagnosis, or the ladder may look different now.
        case viewed
        /// The published path has changed.
        case path(PathEvent)
        /// A check of a target has ended.
        case checked(TargetCheckEvent)
        /// A caller waits for a diagnosis that ends after now.
        case asked
        /// The diagnosis of this round has ended.
        case diagnosed(round: Int, HostFindings)
        /// Time has passed.
        case timer
    }

    /// A consequence of an input; they are run in order.
    enum Effect: Sendable {
        /// ``failing`` is new: levels depend on it.
        case failing
        case revised(SilentAttempts.Revision)
        /// The URLs of the internet check have answered over these families since a moment.
        case internetAnswers([AddressFamily], since: MonotonicTime)
        /// ``latest`` or what the measurements prove is new.
        case known
        case publish(HostDiagnosis)
        /// The diagnosis that callers wait for has ended.
        case ended
        case diagnose(round: Int)
    }

    private struct Round {
        var path: Int
        var start: Moment
    }

    /// A diagnosis that takes longer than this is given up.
    static let limit = Duration.seconds(60)

    private var standing = StandingDiagnosis()
    private var schedule = DiagnosisSchedule()
    private var silent = SilentAttempts()
    /// The evidence of the latest diagnosis.
    private(set) var proof = HostProof()
    private var published: HostDiagnosis?
    private var running: Round?
    private var lastRound = 0
    /// Whether it diagnoses without being asked, and levels follow the diagnosis.
    private let isWatching: Bool

    init(isWatching: Bool) { self.isWatching = isWatching }

    // MARK: What is known

    /// The current diagnosis; nil until the first suspicion or measurement on the current path.
    var latest: HostDiagnosis? { self.standing.latest }

    /// The families over which nothing works although they have a route.
    var failing: [AddressFamily: UnreachableReason] { self.isWatching ? self.latest?.failing ?? [:] : [:] }

    /// When ``Input/timer`` is due; nil if it is not.
    var deadline: MonotonicTime? {
        if let running { return running.start.monotonic + Self.limit }
        return self.isWatching ? self.schedule.deadline : nil
    }

    /// True if ``outage(at:through:at:)`` needs no new diagnosis.
    func isCurrent(at now: MonotonicTime) -> Bool {
        if self.isWatching, self.latest?.isBroken ?? false { return true }
        return self.proof.endedAt.map { now - $0 <= Thresholds.diagnosisReuse } ?? false
    }

    /// The cause of an address's silence if the way out is dead; nil if it is not, or if another gateway leads there.
    ///
    /// Without an address, the cause of silence about names.
    func outage(at address: IPAddress?, through gateway: IPAddress?, at now: MonotonicTime) -> Cause? {
        let outage = self.latest.flatMap { $0.isBroken ? $0.explanation : nil }
        var cause = outage?.cause
        if let address {
            guard let gateway, gateway != address, let evidence = self.proof.evidence(address.family, at: now),
                self.proof.gateways[address.family] == gateway
            else { return nil }
            let own = outage?.ladders.first { $0.family == address.family && $0.cause?.party != .unknown }?.cause
            cause = own ?? cause ?? DecisionTable.cause(of: evidence)
        }
        // If all paths end behind one router, a silent target is behind it as well.
        return cause.flatMap { $0.party.isWayOut || outage != nil && $0.party == .path ? $0 : nil }
    }

    // MARK: Inputs

    /// Changes the state; the effects are to be run in order, and may bring further inputs.
    mutating func handle(_ input: consuming Input, at now: Moment) -> [Effect] {
        let (failing, latest, endedAt) = (self.failing, self.latest, self.proof.endedAt)
        var effects: [Effect] = []
        switch input {
        case .traffic(let evidence): self.record(evidence, at: now)
        case .viewed: self.plan(.viewed, at: now)
        case .path(let change): self.record(change, at: now)
        case .checked(let check): self.record(check, at: now)
        case .asked: if self.running == nil { effects += self.begin(at: now) }
        case .diagnosed(let round, let found):
            guard self.running != nil, round == self.lastRound else { return [] }
            effects += self.end(found, at: now)
        case .timer:
            if let running, running.start.monotonic + Self.limit <= now.monotonic { effects += self.end(nil, at: now) }
        }
        if self.running == nil, let deadline = self.deadline, deadline <= now.monotonic {
            effects += self.begin(at: now)
        }
        if self.latest != latest || self.proof.endedAt != endedAt { effects.insert(.known, at: 0) }
        // The level is set first, so that clients never see one that contradicts the diagnosis.
        if self.failing != failing { effects.insert(.failing, at: 0) }
        return effects
    }

    private mutating func record(_ evidence: TrafficEvidence, at now: Moment) {
        switch evidence {
        case .silence(let start): self.suspect(since: start, at: now)
        case .silenceOf(let party, let start): self.record(silenceOf: party, since: start, at: now)
        case .attempt(let attempt): self.silent.add(attempt)
        // Without an outage an answer is not news, and answers are frequent.
        case .answer: if self.latest?.isBroken ?? false { self.plan(.answered, at: now) }
        case .unclear: self.plan(.viewed, at: now)
        // No diagnosis is needed for these.
        case .success, .failure, .doubt: break
        }
    }

    private mutating func record(_ change: PathEvent, at now: Moment) {
        switch change.scope {
        case .global where change.isOfKernel:
            self.standing.pathChanged(to: change.to, at: now)
            self.plan(change.to.level < .routed ? .lost : .changed, at: now)
        // Internet checks fail, unless the level only reflects the diagnosis.
        case .global where change.to.level == .limited && self.failing.isEmpty:
            self.suspect(since: now.monotonic, at: now)
        case .family where change.isOfKernel: self.plan(.changed, at: now)
        case .global, .family, .target: self.plan(.viewed, at: now)
        }
    }

    // If no task fails, a target may be the first to show a failure of the way out.
    private mutating func record(_ check: TargetCheckEvent, at now: Moment) {
        guard let failure = check.failure else { return self.record(.answer, at: now) }
        if check.isNews { self.record(silenceOf: failure.party, since: now.monotonic, at: now) }
    }

    // One silent server proves little about the way out.
    private mutating func record(silenceOf party: FaultParty, since start: MonotonicTime, at now: Moment) {
        switch party {
        case .mine, .theirs: break
        case .path: self.plan(.viewed, at: now)
        case .gateway, .upstream, .resolver, .unknown: self.suspect(since: start, at: now)
        }
    }

    private mutating func suspect(since start: MonotonicTime, at now: Moment) {
        guard self.isWatching else { return }
        self.standing.suspect(since: now.moved(to: start))
        self.plan(.failed, at: now)
    }

    private mutating func plan(_ input: DiagnosisSchedule.Input, at now: Moment) {
        self.schedule = self.schedule.after(input, at: now.monotonic)
    }

    // MARK: Diagnoses

    private mutating func begin(at now: Moment) -> [Effect] {
        self.lastRound += 1
        self.running = Round(path: self.standing.path, start: now)
        self.plan(.began, at: now)
        return self.news() + [.diagnose(round: self.lastRound)]
    }

    /// `found` is nil if the diagnosis was given up.
    private mutating func end(_ found: HostFindings?, at now: Moment) -> [Effect] {
        guard let round = self.running.take() else { return [] }
        // Findings from before a change of path prove nothing.
        guard let found, round.path == self.standing.path else {
            self.plan(.ended(isBad: true), at: now)
            return [.ended]
        }
        self.standing.record(found.explanation, from: round.start, to: now)
        (self.proof, self.proof.endedAt) = (found.proof, now.monotonic)
        let start = round.start.monotonic
        let revisions = self.silent.revisions(by: found.proof.evidence, before: start, at: now.monotonic)
        let isBad = found.explanation.conclusion == .broken || self.latest?.state == .checking
        self.plan(.ended(isBad: isBad), at: now)
        return revisions.map { .revised($0) } + [.internetAnswers(found.answering, since: start)] + self.news()
            + [.ended]
    }

    // The diagnosis, if it is another one than the last that was published.
    private mutating func news() -> [Effect] {
        let before = self.published
        self.published = self.latest
        return self.latest.flatMap { $0.isSame(as: before) ? nil : [.publish($0)] } ?? []
    }
}

extension PathEvent {
    /// True if the kernel's state has changed, rather than only the evidence about what lies beyond.
    fileprivate var isOfKernel: Bool {
        if min(self.from.level, self.to.level) < .routed { return true }
        // The choice of the better family also depends on evidence about what lies beyond.
        return self.from.path?.source?.family == self.to.path?.source?.family
            && self.from.path?.identity != self.to.path?.identity
    }
}
