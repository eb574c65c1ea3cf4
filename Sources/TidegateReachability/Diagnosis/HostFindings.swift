internal import TidegateCore

/// What a diagnosis of the whole host comes to.
struct HostFindings: Sendable {
    /// The ladders and the conclusion.
    var explanation: Explanation
    /// What is known of each family's gateway, and of what lies beyond it.
    var evidence: [AddressFamily: SilenceEvidence] = [:]

    init(_ findings: LadderFindings) {
        self.explanation = ExplanationComposer.compose(findings)
        for (family, path) in findings.paths where path.verdict.level >= .routed {
            let finder = CauseFinder(findings: findings, path: path)
            self.evidence[family] = SilenceEvidence(
                silent: .target, gateway: path.gatewayEvidence, witnesses: finder.witnesses)
        }
        self.shareEvidence()
    }

    // Where nothing works at all, a family over which nobody could be asked fails like the other one.
    private mutating func shareEvidence() {
        guard self.explanation.conclusion == .broken,
            let known = self.evidence.values.first(where: { !$0.witnesses.isEmpty }),
            !known.witnesses.contains(where: \.isBeyondGateway)
        else { return }
        for (family, own) in self.evidence where own.witnesses.isEmpty { self.evidence[family] = known }
    }
}
