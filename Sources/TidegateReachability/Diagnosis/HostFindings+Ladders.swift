internal import TidegateAttribution
internal import TidegateCore

extension HostFindings {
    /// What the findings of a diagnosis say of this host.
    init(_ findings: LadderFindings) {
        self.gateways = findings.paths.compactMapValues { $0.verdict.path?.gateway }
        self.explanation = ExplanationComposer.compose(findings)
        self.answering = findings.paths.filter {
            $0.value.internet.map(ConnectivityEvaluator.connectivity) == .full
        }.map(\.key)
        for (family, path) in findings.paths where path.verdict.level >= .routed && !findings.lackedDescriptor {
            let finder = CauseFinder(findings: findings, path: path)
            // An answer from a public address proves nothing about another target's host.
            let witnesses = finder.witnesses.map {
                $0.reach == .destination ? Witness($0.kind, .beyond(path.subject.address), refusal: $0.refusal) : $0
            }
            self.evidence[family] = SilenceEvidence(
                silent: .target, gateway: path.gatewayEvidence, witnesses: witnesses)
        }
        // If nothing works at all, a family without any party to contact fails like the other one.
        guard self.explanation.conclusion == .broken,
            let known = self.evidence.values.first(where: { !$0.witnesses.isEmpty }),
            !known.witnesses.contains(where: \.isBeyondGateway)
        else { return }
        for (family, own) in self.evidence where own.witnesses.isEmpty { self.evidence[family] = known }
    }
}
