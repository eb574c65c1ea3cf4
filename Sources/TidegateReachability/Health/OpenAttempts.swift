internal import TidegateAttribution
package import TidegateCore

/// Attempts that recently failed and do not show who is responsible, until a diagnosis that began after them has ended.
///
/// A diagnosis of the way out decides if it finds this side of the way broken; else a diagnosis of the target does.
package struct OpenAttempts: Sendable {
    /// A failed attempt; its remote is nil if it ended before it had an address.
    package struct Attempt: Sendable, Hashable {
        let task: TaskID
        let number: Int
        /// The party first held responsible.
        let party: FaultParty
        /// Why that may be wrong.
        let doubt: Attribution.Doubt
        let remote: IPAddress?
        let start: MonotonicTime
        let moment: MonotonicTime

        /// The attempt of a task that began at `start` and ended at `moment`.
        package init(
            task: TaskID, number: Int, party: FaultParty, doubt: Attribution.Doubt, remote: IPAddress?,
            start: MonotonicTime, moment: MonotonicTime
        ) {
            (self.task, self.number, self.party) = (task, number, party)
            (self.doubt, self.remote, self.start, self.moment) = (doubt, remote, start, moment)
        }
    }

    /// An attempt whose responsible party changed.
    struct Revision: Sendable, Hashable {
        var task: TaskID
        var attempt: Int
        var from: FaultParty
        var to: FaultParty
    }

    /// A burst of failures has one cause, so the oldest are dropped first.
    static let capacity = 1_024
    private var attempts: [Attempt] = []

    var count: Int { self.attempts.count }

    /// The targets of the attempts, without repetition.
    var targets: [Target] {
        var known: Set<Target> = []
        return self.attempts.compactMap(\.doubt.target).filter { known.insert($0).inserted }
    }

    mutating func add(_ attempt: Attempt) {
        if self.attempts.count >= OpenAttempts.capacity { self.attempts.removeFirst(OpenAttempts.capacity / 2) }
        self.attempts.append(attempt)
    }

    /// Forgets attempts that are too old for a revision.
    mutating func expire(at now: MonotonicTime) {
        self.attempts.removeAll { now - $0.moment > Thresholds.evidenceAge }
    }

    /// The attempts from before a diagnosis of the way out at `start` whose party is revised; undecided attempts stay.
    mutating func revisions(
        by evidence: [AddressFamily: SilenceEvidence], before start: MonotonicTime, at now: MonotonicTime
    ) -> [Revision] {
        self.expire(at: now)
        return self.revise { attempt in
            let own = attempt.remote.map { evidence[$0.family] } ?? evidence[.ipv4] ?? evidence[.ipv6]
            guard attempt.moment <= start, let own else { return .undecided }
            let revision = DecisionTable.revision(of: attempt.party, attempt.doubt.silent ?? .target, by: own)
            // The target itself was not asked.
            guard attempt.doubt.target != nil else { return revision }
            if case .to(let party) = revision, party.isThisSide { return revision }
            return attempt.party.isThisSide && revision == .unchanged ? .unchanged : .undecided
        }
    }

    /// The attempts to a target that are charged to the party that a diagnosis of it found, nil if it was reached.
    mutating func revisions(of target: Target, to party: FaultParty?) -> [Revision] {
        self.revise { attempt in
            guard attempt.doubt.target == target else { return .undecided }
            // The way to a target that answers is not broken.
            let found = party ?? (attempt.party == .path ? .unknown : attempt.party)
            return found == attempt.party ? .unchanged : .to(found)
        }
    }

    private mutating func revise(_ decide: (Attempt) -> DecisionTable.Revision) -> [Revision] {
        var revisions: [Revision] = []
        self.attempts.removeAll { attempt in
            let revision = decide(attempt)
            if case .to(let party) = revision {
                revisions.append(.init(task: attempt.task, attempt: attempt.number, from: attempt.party, to: party))
            }
            return revision != .undecided
        }
        return revisions
    }
}

/// The remotes that put the way out in doubt by their silence, and when it was found to work in spite of them.
struct Suspicions {
    static let capacity = 256
    private var remotes: Set<IPAddress> = []
    private var acquittals: [IPAddress: MonotonicTime] = [:]

    /// True if a remote's silence is not news: a diagnosis less than a minute ago found the way out to work.
    func isAcquitted(by remote: IPAddress, at now: MonotonicTime) -> Bool {
        self.acquittals[remote].map { now - $0 <= .seconds(60) } ?? false
    }

    mutating func add(_ remote: IPAddress) { if self.remotes.count < Self.capacity { self.remotes.insert(remote) } }

    /// Records that the way out works although the remotes are silent.
    mutating func acquit(at now: MonotonicTime) {
        self.acquittals = self.acquittals.filter { now - $0.value <= .seconds(60) }
        for remote in self.remotes { self.acquittals[remote] = now }
        self.remotes = []
    }
}

/// The targets of open attempts that are being diagnosed, and what recent diagnoses and checks of targets have found.
struct TargetFindings {
    static let mostAtOnce = 2
    // Without a party the target was reached.
    private var found: [Target: (party: FaultParty?, moment: MonotonicTime)] = [:]
    // When each began, and on which path; one that never ends is given up.
    private var running: [Target: (start: MonotonicTime, path: Int)] = [:]

    /// The last finding about a target, which explains another failure soon after; nil without one.
    func fresh(_ target: Target, at now: MonotonicTime) -> (party: FaultParty?, moment: MonotonicTime)? {
        self.found[target].flatMap { now - $0.moment <= Thresholds.evidenceAge ? $0 : nil }
    }

    /// Forgets what is too old.
    mutating func expire(at now: MonotonicTime) {
        self.found = self.found.filter { now - $0.value.moment <= Thresholds.evidenceAge }
        self.running = self.running.filter { now - $0.value.start <= HostHealth.limit }
    }

    mutating func record(_ party: FaultParty?, of target: Target, at now: MonotonicTime) {
        self.found[target] = (party, now)
    }

    /// Forgets what was found: on another path nothing of it holds.
    mutating func forgetAll() { self.found = [:] }

    /// Forgets a target that was reached.
    mutating func forget(_ target: Target) { self.found[target] = nil }

    /// The targets to diagnose now.
    mutating func begin(_ targets: [Target], on path: Int, at now: MonotonicTime) -> [Target] {
        let waiting = targets.filter { self.fresh($0, at: now) == nil && self.running[$0] == nil }
        let chosen = Array(waiting.prefix(max(0, Self.mostAtOnce - self.running.count)))
        for target in chosen { self.running[target] = (now, path) }
        return chosen
    }

    /// Records that the diagnosis of a target has ended; false if it had been given up, or began on another path.
    mutating func end(_ target: Target, on path: Int) -> Bool { self.running.removeValue(forKey: target)?.path == path }
}
