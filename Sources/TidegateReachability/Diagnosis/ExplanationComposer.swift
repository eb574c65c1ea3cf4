internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// Composes an explanation from the findings of a diagnosis.
enum ExplanationComposer {
    static func compose(_ findings: LadderFindings) -> Explanation {
        let ladders = findings.families.map { LadderComposer(findings: findings, family: $0).ladder }
        let addresses =
            findings.target.isInternet
            ? [] : findings.name?.addresses ?? [findings.target.target.address].compactMap(\.self)
        let wanted = Set(addresses.map(\.family))
        let contenders = wanted.isEmpty ? ladders : ladders.filter { wanted.contains($0.family) }
        let isReached = contenders.contains { self.isReached($0, findings.target) }
        let failing = isReached ? nil : self.furthest(contenders.isEmpty ? ladders : contenders)
        let own = addresses.filter { findings.families.contains($0.family) }
        var explanation = Explanation(
            target: findings.target.description, addresses: own, ladders: ladders, conclusion: .works)
        if isReached {
            explanation.findings = ReachedFindings(findings: findings, ladders: ladders).clauses
            explanation.conclusion = explanation.findings.isEmpty ? .works : .worksBut
            return explanation
        }
        // Of what neither failed nor was reached, the party is not known.
        var cause = Cause.unknown(.notEnoughTime)
        explanation.conclusion = .notChecked
        if let failing {
            cause = failing.cause ?? .unknown(.silence)
            explanation.conclusion = failing.firstFailure?.rung == .monitor ? .notChecked : .broken
            explanation.firstFailure = failing.firstFailure
            explanation.findings = ReachedFindings(findings: findings, ladders: ladders).proxies
        }
        explanation.cause = cause
        explanation.party = cause.party
        explanation.advice = cause.advice(for: findings.target.target)
        return explanation
    }

    // The ladder whose first failure is highest; IPv4 if both fail on the same rung.
    private static func furthest(_ ladders: [Explanation.Ladder]) -> Explanation.Ladder? {
        func order(_ ladder: Explanation.Ladder) -> Int { ladder.firstFailure?.rung.order ?? -1 }
        return ladders.filter { $0.firstFailure != nil }.max { order($0) < order($1) }
    }

    private static func isReached(_ ladder: Explanation.Ladder, _ target: ExplainTarget) -> Bool {
        guard !target.isInternet else {
            // Where the daemon may not walk to the internet, a resolver that answers is all there is to go by.
            return ladder.firstFailure == nil
                && ladder.rungs.contains { [.dns, .internet].contains($0.rung) && $0.status == .ok }
        }
        guard let stage = target.lastStage else {
            let isNamed = ladder.rungs.contains { $0.rung == .dns && [.ok, .notApplicable].contains($0.status) }
            return ladder.firstFailure == nil && isNamed
                && ladder.rungs.contains { $0.rung == .route && $0.status == .ok }
        }
        return ladder.rungs.first { $0.rung == stage.rung }?.status == .ok
    }
}
