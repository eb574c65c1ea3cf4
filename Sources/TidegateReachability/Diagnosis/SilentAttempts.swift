internal import TidegateAttribution
internal import TidegateCore

/// Attempts that recently failed in silence, until a diagnosis that began after them has ended.
struct SilentAttempts: Sendable {
    struct Attempt: Sendable, Hashable {
        var task: TaskID
        var number: Int
        /// The party first held responsible.
        var party: FaultParty
        var silent: SilenceEvidence.Silent
        /// Nil if the attempt ended before it had an address.
        var family: AddressFamily?
        var moment: MonotonicTime
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

    mutating func add(_ attempt: Attempt) {
        if self.attempts.count >= SilentAttempts.capacity { self.attempts.removeFirst(SilentAttempts.capacity / 2) }
        self.attempts.append(attempt)
    }

    /// The attempts from before a diagnosis at `start` whose party is revised; undecided attempts stay for the next
    /// one.
    mutating func revisions(
        by evidence: [AddressFamily: SilenceEvidence], before start: MonotonicTime, at now: MonotonicTime
    ) -> [Revision] {
        let known = self.attempts.filter { $0.moment <= start && now - $0.moment <= Thresholds.evidenceAge }
        self.attempts.removeAll { $0.moment <= start }
        return known.compactMap { attempt in
            let own = attempt.family.map { evidence[$0] } ?? evidence[.ipv4] ?? evidence[.ipv6]
            switch own.map({ DecisionTable.revision(of: attempt.party, attempt.silent, by: $0) }) {
            case .to(let party)?:
                return Revision(task: attempt.task, attempt: attempt.number, from: attempt.party, to: party)
            case .unchanged?: break
            case .undecided?, nil: self.attempts.append(attempt)
            }
            return nil
        }
    }
}
