internal import TidegateAttribution
package import TidegateCore

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
        /// This host has slept: it may be in another place, where the addresses are the same.
        case resumed
        /// A check of a target has ended, over this path.
        case checked(TargetCheckEvent, NetworkPath.Identity?)
        /// The hosts of the way out were asked, or something was measured.
        case quality(QualityWatch.Input)
        /// The ways out of this host were found and asked.
        case uplinks([Uplink])
        /// A caller waits for a diagnosis that ends after now.
        case asked
        /// The diagnosis of this round has ended.
        case diagnosed(round: Int, HostFindings)
        /// The diagnosis of a target has ended; without a party if the target was reached.
        case explained(Target, FaultParty?)
        /// Time has passed.
        case timer
    }

    /// A consequence of an input; they are run in order.
    enum Effect: Sendable {
        /// ``failing`` is new: levels depend on it.
        case failing
        case revised(OpenAttempts.Revision)
        /// The URLs of the internet check have answered over these families since a moment.
        case internetAnswers([AddressFamily], since: MonotonicTime)
        /// ``latest`` or what the measurements prove is new.
        case known
        case publish(HostDiagnosis)
        /// The diagnosis that callers wait for has ended.
        case ended
        /// The diagnosis of this round begins; `isSilent` if some packet has had no answer.
        case diagnose(round: Int, isSilent: Bool)
        /// The diagnosis of a target that attempts have failed at begins.
        case explain(Target)
        case quality(QualityWatch.Effect)
        case uplinks(UplinkWatch.Effect)
    }

    private struct Round {
        var path: Int
        var start: Moment
    }

    /// A diagnosis that takes longer than this is given up.
    static let limit = Duration.seconds(60)

    private var standing = StandingDiagnosis()
    private var schedule = DiagnosisSchedule()
    private var open = OpenAttempts()
    private var targets = TargetFindings()
    private var suspicions = Suspicions()
    /// The quality of the way out; nil if it is not watched.
    private(set) var quality: QualityWatch?
    /// The ways out; nil if those that are not used are not asked.
    private(set) var uplinks: UplinkWatch?
    /// The published path of the host as a whole; nil without one.
    private var path: NetworkPath?
    /// The evidence of the latest diagnosis.
    private(set) var proof = HostProof()
    private var published: HostDiagnosis?
    private var running: Round?
    private var lastRound = 0
    /// Whether it diagnoses without being asked, and levels follow the diagnosis.
    private let isWatching: Bool

    init(isWatching: Bool, quality: QualityWatch? = nil, uplinks: UplinkWatch? = nil) {
        (self.isWatching, self.quality, self.uplinks) = (isWatching, quality, uplinks)
    }

    // MARK: What is known

    /// The current diagnosis; nil until the first suspicion or measurement on the current path.
    var latest: HostDiagnosis? { self.standing.latest }

    /// The families over which nothing works although they have a route.
    var failing: [AddressFamily: UnreachableReason] { self.isWatching ? self.latest?.failing ?? [:] : [:] }

    /// When ``Input/timer`` is due; nil if it is not.
    var deadline: MonotonicTime? {
        [self.diagnosisDeadline, self.quality?.deadline, self.uplinks?.deadline].compactMap(\.self).min()
    }

    private var diagnosisDeadline: MonotonicTime? {
        if let running { return running.start.monotonic + Self.limit }
        return self.isWatching ? self.schedule.deadline : nil
    }

    /// True if ``outage(at:over:at:)`` needs no new diagnosis.
    func isCurrent(at now: MonotonicTime) -> Bool {
        if self.isWatching, self.latest?.isBroken ?? false { return true }
        return self.proof.endedAt.map { now - $0 <= Thresholds.diagnosisReuse } ?? false
    }

    /// The cause of an address's silence if the way out is dead; nil if it is not, or if another next hop leads there.
    ///
    /// Without an address, the cause of silence about names.
    func outage(at address: IPAddress?, over path: NetworkPath?, at now: MonotonicTime) -> Cause? {
        let outage = self.latest.flatMap { $0.isBroken ? $0.explanation : nil }
        var cause = outage?.cause
        if let address {
            guard let path, path.gateway != address, let evidence = self.proof.evidence(address.family, at: now),
                let way = self.proof.paths[address.family], way.index == path.index, way.gateway == path.gateway
            else { return nil }
            let own = outage?.ladders.first { $0.family == address.family && $0.cause?.party != .unknown }?.cause
            cause = own ?? cause ?? DecisionTable.cause(of: evidence)
        }
        // A target with an address needs no name.
        if address != nil, case .resolver? = cause { return nil }
        // Where all paths end behind one router, or by a fault of this host's tables, a silent target shares the cause.
        return cause.flatMap { $0.party.isWayOut || outage != nil && [.path, .mine].contains($0.party) ? $0 : nil }
    }

    // MARK: Inputs

    /// Changes the state; the effects are to be run in order, and may bring further inputs.
    mutating func handle(_ input: consuming Input, at now: Moment) -> [Effect] {
        let (failing, latest, endedAt) = (self.failing, self.latest, self.proof.endedAt)
        var effects: [Effect] = []
        var watched: QualityWatch.Input?
        var found: [Uplink]?
        switch input {
        case .traffic(.success(let request)): watched = .success(request)
        case .traffic(let evidence): self.record(evidence, at: now)
        case .viewed: self.plan(.viewed, at: now)
        case .path(let change): self.record(change, at: now)
        case .resumed:
            guard self.path != nil else { return [] }
            self.restart(lostSince: nil, at: now)
            watched = .resumed
        case .checked(let check, let path):
            self.record(check, at: now)
            if path == self.path?.identity {
                watched = .checked(check.target, check.failure == nil ? check.phases : nil)
            }
        case .quality(let input): watched = input
        case .uplinks(let uplinks): found = uplinks
        case .asked: if self.running == nil { effects += self.begin(isSilent: true, at: now) }
        case .diagnosed(let round, let found):
            guard self.running != nil, round == self.lastRound else { return [] }
            effects += self.end(found, at: now)
        case .explained(let target, let party):
            let isValid = self.targets.end(target, on: self.standing.path)
            if isValid { self.targets.record(party, of: target, at: now.monotonic) }
            if isValid, party?.isWayOut ?? false { self.plan(.viewed, at: now) }
        case .timer:
            if let running, running.start.monotonic + Self.limit <= now.monotonic { effects += self.end(nil, at: now) }
        }
        if self.running == nil, let deadline = self.diagnosisDeadline, deadline <= now.monotonic {
            effects += self.begin(isSilent: self.latest.map { $0.isBroken || $0.state == .checking } ?? false, at: now)
        }
        effects += self.askTargets(at: now)
        if self.latest != latest || self.proof.endedAt != endedAt { effects.insert(.known, at: 0) }
        let (path, isChecking) = (self.latest?.isBroken == true ? nil : self.path, self.latest?.state == .checking)
        let news = self.quality?.handle(watched, over: path, isChecking: isChecking, at: now) ?? []
        effects += news.map { .quality($0) }
        let (used, interface) = (self.usedState, self.path?.interface)
        effects += (self.uplinks?.handle(found, used: used, over: interface, at: now) ?? []).map { .uplinks($0) }
        // The level is set first, so that clients never see one that contradicts the diagnosis.
        if self.failing != failing { effects.insert(.failing, at: 0) }
        return effects
    }

    /// The state of the way that is used, by the diagnosis; nil while that is being made.
    private var usedState: Uplink.State? {
        guard let latest, self.path != nil else { return .unknown }
        guard latest.isBroken else { return latest.state == .decided ? .works : nil }
        switch latest.explanation.party {
        case .upstream: return .provider
        case .gateway: return .silent
        case .mine, .path, .resolver, .theirs, .unknown, nil: return .unknown
        }
    }

    private mutating func record(_ evidence: TrafficEvidence, at now: Moment) {
        switch evidence {
        case .silence(let start): self.suspect(since: start, at: now)
        case .silenceOf(let party, let remote, let start): self.record(silenceOf: party, remote, since: start, at: now)
        case .attempt(let attempt): if self.isWatching { self.record(attempt, at: now) }
        // Without an outage an answer is not news, and answers are frequent.
        case .answer: if self.latest?.isBroken ?? false { self.plan(.answered, at: now) }
        case .unclear: self.plan(.viewed, at: now)
        // No diagnosis is needed for these.
        case .success, .failure, .doubt: break
        }
    }

    private mutating func record(_ change: PathEvent, at now: Moment) {
        if change.scope == .global { self.path = change.to.level >= .routed ? change.to.path : nil }
        switch change.scope {
        case .global where change.isOfKernel:
            self.uplinks?.hasten(at: now.monotonic)
            let isLost = change.to.level < .routed
            self.restart(lostSince: isLost && change.to.level != .unknown ? now : nil, at: now)
            if isLost { self.plan(.lost, at: now) }
        // Internet checks fail, unless the level only reflects the diagnosis.
        case .global where change.to.level == .limited && self.failing.isEmpty:
            self.suspect(since: now.monotonic, at: now)
        case .family where change.isOfKernel: self.plan(.changed, at: now)
        case .global, .family, .target: self.plan(.viewed, at: now)
        }
    }

    private mutating func restart(lostSince loss: Moment?, at now: Moment) {
        self.standing.restart(lostSince: loss)
        self.proof = HostProof()
        self.targets.forgetAll()
        self.suspicions = Suspicions()
        if self.path != nil { self.plan(.changed, at: now) }
    }

    // If no task fails, a target may be the first to show a failure of the way out.
    private mutating func record(_ check: TargetCheckEvent, at now: Moment) {
        guard let failure = check.failure else {
            self.targets.forget(check.target)
            return self.record(.answer, at: now)
        }
        self.targets.record(failure.party, of: check.target, at: now.monotonic)
        guard check.isNews else { return }
        // A resolver of this host that does not answer may stand for the way out behind it.
        let isOfName = failure.party == .mine && [.resolverTimeout, .resolverFailed].contains(failure.reason)
        self.record(silenceOf: isOfName ? .resolver : failure.party, since: now.monotonic, at: now)
    }

    private mutating func record(_ attempt: OpenAttempts.Attempt, at now: Moment) {
        self.open.add(attempt)
        guard attempt.doubt.silent != nil else { return }
        self.record(silenceOf: attempt.party, attempt.remote, since: attempt.start, at: now)
    }

    // One silent server proves little about the way out.
    private mutating func record(
        silenceOf party: FaultParty, _ remote: IPAddress? = nil, since start: MonotonicTime, at now: Moment
    ) {
        switch party {
        case .mine, .theirs: break
        case .path: self.plan(.viewed, at: now)
        case .gateway, .upstream, .resolver, .unknown:
            // The way out was found to work while this remote was silent.
            if let remote, self.suspicions.isAcquitted(by: remote, at: now.monotonic) {
                return self.plan(.viewed, at: now)
            }
            if let remote { self.suspicions.add(remote) }
            self.suspect(since: start, at: now)
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

    private mutating func begin(isSilent: Bool, at now: Moment) -> [Effect] {
        self.lastRound += 1
        self.running = Round(path: self.standing.path, start: now)
        self.plan(.began, at: now)
        return self.news() + [.diagnose(round: self.lastRound, isSilent: isSilent)]
    }

    // While the way out is in doubt or dead, its diagnosis decides.
    private mutating func askTargets(at now: Moment) -> [Effect] {
        guard self.open.count > 0, self.latest?.state != .checking,
            !(self.latest?.isBroken ?? false && self.latest?.explanation.party?.isWayOut ?? false)
        else { return [] }
        self.open.expire(at: now.monotonic)
        self.targets.expire(at: now.monotonic)
        let revisions = self.open.targets.flatMap { target in
            self.targets.fresh(target, at: now.monotonic).map { found in
                self.open.revisions(of: target, to: found.party)
            } ?? []
        }
        return revisions.map { .revised($0) }
            + self.targets.begin(self.open.targets, on: self.standing.path, at: now.monotonic).map { .explain($0) }
    }

    /// `found` is nil if the diagnosis was given up.
    private mutating func end(_ found: HostFindings?, at now: Moment) -> [Effect] {
        guard let round = self.running.take() else { return [] }
        // Findings from before a change of path prove nothing.
        guard let found, round.path == self.standing.path else {
            self.plan(.ended(isBad: true), at: now)
            return [.ended]
        }
        let wasBroken = self.latest?.isBroken ?? false
        self.standing.record(found, from: round.start, to: now)
        (self.proof, self.proof.endedAt) = (found.proof, now.monotonic)
        // Remotes that were silent in an outage may be so for the next one.
        if wasBroken || self.latest?.isBroken ?? true { self.suspicions = Suspicions() }
        if self.latest?.state == .decided { self.suspicions.acquit(at: now.monotonic) }
        let start = round.start.monotonic
        let revisions = self.open.revisions(by: found.proof.evidence, before: start, at: now.monotonic)
        let isBad = self.latest.map { $0.isBroken || $0.state == .checking } ?? false
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
    package var isOfKernel: Bool {
        if min(self.from.level, self.to.level) < .routed { return true }
        // The choice of the better family also depends on evidence about what lies beyond.
        return self.from.path?.source?.family == self.to.path?.source?.family
            && self.from.path?.identity != self.to.path?.identity
    }
}
