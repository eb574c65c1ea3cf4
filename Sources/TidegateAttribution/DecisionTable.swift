package import TidegateCore

/// Decides which party is responsible for a failure: the first matching rule gives the answer.
///
/// Order matters. A lost or changed path explains every symptom on it; an answer counts more than silence; silence is
/// attributed by witnesses only.
package enum DecisionTable {
    static let rules =
        hostRules + nameRules + serverRules + refusalRules + socketRules + silenceRules

    /// The attribution of a failed attempt; nil for a cancelled one.
    package static func attribution(of evidence: FailureEvidence) -> Attribution? {
        guard evidence.failure != .cancelled else { return nil }
        let facts = Facts(evidence)
        return self.rules.lazy.compactMap { $0.attribution(facts) }.first
    }

    /// The responsible party.
    package static func party(of evidence: FailureEvidence) -> FaultParty {
        let facts = Facts(evidence)
        return self.rules.lazy.compactMap { $0.answer(facts)?.party }.first ?? .unknown
    }

    /// The cause of the failed rung that a diagnosis found.
    package static func cause(of evidence: FailureEvidence) -> Cause {
        let facts = Facts(evidence)
        return self.rules.lazy.compactMap { $0.answer(facts)?.cause }.first ?? .unknown(.silence)
    }

    /// The cause of a silence, judged by its witnesses.
    package static func cause(of silence: SilenceEvidence) -> Cause { self.cause(of: FailureEvidence(silence)) }

    /// The rung that a cause belongs to, if another rung showed it.
    package static func rung(of cause: Cause, shownBy rung: Rung, _ witnesses: [Witness] = []) -> Rung {
        switch cause {
        case .router(.absent), .router(.silent): .gateway
        case .provider(.nothingBeyond), .provider(.ends), .provider(.checksFail), .provider(.portal),
            .provider(.silentLine):
            .internet
        // A gateway without any route is a failure of the internet rung; without a route to this one host, of the rung
        // that showed it.
        case .provider(.noRoute):
            witnesses.isEmpty || witnesses.contains(where: \.isBeyondGateway) ? rung : .internet
        case .resolver: .dns
        case .router(.prohibits), .thisHost, .onTheWay, .server, .slow, .unknown: rung
        }
    }

    /// The party of a silent attempt, revised by a diagnosis that began after it.
    package static func revision(
        of party: FaultParty, _ silent: SilenceEvidence.Silent, by diagnosis: SilenceEvidence
    ) -> Revision {
        var diagnosis = diagnosis
        diagnosis.silent = silent
        let found = self.cause(of: diagnosis).party
        let isAcquitted = party == .resolver && Facts(FailureEvidence(diagnosis)).areResolversProven
        if found == .unknown { return isAcquitted ? .to(.unknown) : .undecided }
        // A server that had answered before remains the silent one, unless nothing answers at all.
        return found == party || party == .theirs && found == .path ? .unchanged : .to(found)
    }

    /// How a later diagnosis changes an attribution.
    package enum Revision: Sendable, Hashable {
        case undecided, unchanged
        case to(FaultParty)
    }
}

extension FaultParty {
    /// True if nothing beyond this host or its gateway answers: such a failure says nothing about the target.
    package var isWayOut: Bool { self == .gateway || self == .upstream }
}

/// A row of the decision table: a condition, and the responsible party if it holds.
struct Rule: Sendable {
    /// The responsible party, and the cause if the rule knows it.
    struct Answer: Sendable, Hashable {
        var party: FaultParty
        var cause: Cause?
    }

    /// The condition, in one clause.
    let name: String
    /// The rung that failed; nil for the rung that showed the failure.
    let rung: Rung?
    /// False for silence: a later diagnosis may revise it.
    let isFinal: Bool
    /// The observation, as evidence; nil for ``name``, or for the clauses of ``Facts``.
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
        if facts.isOfUnknownSender { attribution.doubt = .init(silent: nil) }
        guard !self.isFinal, facts.silent != .target || !facts.isOnLink else { return attribution }
        attribution.doubt = .init(
            silent: facts.silent == .target ? .target : .resolvers(answer.cause?.silentResolvers ?? []))
        return attribution
    }
}

extension Cause {
    fileprivate var silentResolvers: [IPAddress]? {
        if case .resolver(.silent(let servers)) = self { servers } else { nil }
    }
}
