internal import TidegateCore

/// A row of the decision table: what must be known, and whose failure it then is.
struct Rule: Sendable {
    /// The responsible party, and what is wrong if the rule knows.
    struct Answer: Sendable, Hashable {
        var party: FaultParty
        var cause: Cause?
    }

    /// What must be known, in one clause.
    let name: String
    /// The rung that failed; nil for the one at which it was seen.
    let rung: Rung?
    /// False for silence: a later diagnosis may know better.
    let isFinal: Bool
    /// What was seen, as evidence; nil for ``name``, or for what ``Facts`` say.
    let clause: (@Sendable (Facts) -> String)?
    /// Nil if the rule does not apply.
    let answer: @Sendable (Facts) -> Answer?

    /// A rule that knows only the party.
    init(
        _ name: String, party: FaultParty, rung: Rung? = nil, clause: (@Sendable (Facts) -> String)? = nil,
        if applies: @escaping @Sendable (Facts) -> Bool
    ) {
        (self.name, self.rung, self.isFinal, self.clause) = (name, rung, true, clause ?? { _ in name })
        self.answer = { applies($0) ? Answer(party: party) : nil }
    }

    /// A rule that knows the cause.
    init(
        _ name: String, rung: Rung? = nil, isFinal: Bool = true, cause: @escaping @Sendable (Facts) -> Cause?
    ) {
        (self.name, self.rung, self.isFinal, self.clause) = (name, rung, isFinal, nil)
        self.answer = { facts in cause(facts).map { Answer(party: $0.party, cause: $0) } }
    }

    /// The attribution; nil if the rule does not apply.
    func attribution(_ facts: Facts) -> Attribution? {
        guard let answer = self.answer(facts) else { return nil }
        var attribution = Attribution(party: answer.party, rung: self.rung ?? facts.rung)
        if let clause = self.clause {
            attribution.evidence = [clause(facts)]
        } else if let cause = answer.cause {
            attribution.cause = cause
            attribution.evidence = facts.clauses(of: cause)
        }
        guard !self.isFinal, facts.silent != .target || !facts.isOnLink else { return attribution }
        attribution.silence = facts.silent == .target ? .target : .resolvers(answer.cause?.silentResolvers ?? [])
        return attribution
    }
}

extension Cause {
    fileprivate var silentResolvers: [IPAddress]? {
        if case .resolver(.silent(let servers)) = self { servers } else { nil }
    }
}
