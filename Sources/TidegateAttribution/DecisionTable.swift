package import TidegateCore

/// Decides whose failure something was: the first rule that applies gives the answer.
///
/// Order matters: a path that was lost or changed explains every symptom on it, an answer counts more than silence, and
/// silence convicts only by its witnesses.
package enum DecisionTable {
    static let rules =
        HostRules.all + NameRules.all + ServerRules.all + RefusalRules.all + SocketRules.all + SilenceRules.all

    /// The attribution of a failed attempt; nil for a cancelled one.
    package static func attribution(of evidence: FailureEvidence) -> Attribution? {
        guard evidence.failure != .cancelled else { return nil }
        let facts = Facts(evidence)
        return self.rules.lazy.compactMap { $0.attribution(facts) }.first
    }

    /// Whose failure it was.
    package static func party(of evidence: FailureEvidence) -> FaultParty {
        let facts = Facts(evidence)
        return self.rules.lazy.compactMap { $0.answer(facts)?.party }.first ?? .unknown
    }

    /// What is wrong where a diagnosis found a rung that fails.
    package static func cause(of evidence: FailureEvidence) -> Cause {
        let facts = Facts(evidence)
        return self.rules.lazy.compactMap { $0.answer(facts)?.cause }.first ?? .unknown(.silence)
    }

    /// What silence means, by its witnesses.
    package static func cause(of silence: SilenceEvidence) -> Cause { self.cause(of: FailureEvidence(silence)) }

    /// The rung that fails for a cause that another rung showed.
    package static func rung(of cause: Cause, shownBy rung: Rung, _ witnesses: [Witness] = []) -> Rung {
        switch cause {
        case .router(.absent), .router(.silent): .gateway
        case .provider(.nothingBeyond), .provider(.ends), .provider(.checksFail), .provider(.portal): .internet
        // A gateway without a way to anything is the internet's failure; without one to this host, that of its rung.
        case .provider(.noRoute):
            witnesses.isEmpty || witnesses.contains(where: \.isBeyondGateway) ? rung : .internet
        case .resolver: .dns
        case .router(.prohibits), .thisHost, .onTheWay, .server, .unknown: rung
        }
    }

    /// The party of a silent attempt, by a diagnosis that began after it; nil if that changes nothing.
    package static func revision(
        of party: FaultParty, _ silent: SilenceEvidence.Silent, by diagnosis: SilenceEvidence
    ) -> Revision {
        var diagnosis = diagnosis
        diagnosis.silent = silent
        let found = self.cause(of: diagnosis).party
        if found == .unknown { return .undecided }
        // A server that had answered before stays the one that is silent, unless nothing answers at all.
        return found == party || party == .theirs && found == .path ? .unchanged : .to(found)
    }

    /// What a later diagnosis says of an attribution.
    package enum Revision: Sendable, Hashable {
        case undecided, unchanged
        case to(FaultParty)
    }
}

extension FaultParty {
    /// True if nothing beyond this host or its gateway answers, so that the failure says nothing of the target.
    package var isWayOut: Bool { self == .gateway || self == .upstream }
}
