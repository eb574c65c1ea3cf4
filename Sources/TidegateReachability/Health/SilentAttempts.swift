internal import TidegateAttribution
package import TidegateCore

/// Attempts that recently failed in silence, until a diagnosis that began after them has ended.
package struct SilentAttempts: Sendable {
    /// An attempt that ended at a moment, over no known family if it had no address by then.
    package struct Attempt: Sendable, Hashable {
        let task: TaskID
        let number: Int
        /// The party first held responsible.
        let party: FaultParty
        let silent: SilenceEvidence.Silent
        let family: AddressFamily?
        let moment: MonotonicTime

        /// The attempt of a task that ended at `moment`.
        package init(
            task: TaskID, number: Int, party: FaultParty, silent: SilenceEvidence.Silent, family: AddressFamily?,
            moment: MonotonicTime
        ) {
            (self.task, self.number, self.party) = (task, number, party)
            (self.silent, self.family, self.moment) = (silent, family, moment)
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
