extension Attribution {
    /// Judges by an ICMP error: who sent it, and what it says.
    static func refusal(_ refusal: ICMPError, _ evidence: FailureEvidence) -> Attribution {
        switch evidence.role(of: refusal) {
        case .thisHost: return self.own(refusal, evidence)
        case .destination:
            return Attribution(
                party: .theirs, rung: .tcp, isCertain: true,
                evidence: [refusal.sentence(about: evidence.peer, role: "the host itself")])
        case .gateway:
            return self.router(
                refusal, evidence, role: "the gateway",
                parties: GatewayFaults(noRoute: .upstream, refusal: .gateway, loop: .upstream))
        case .router:
            // Whether it is near this host or near the other one is told by those who share the way.
            let noRoute: FaultParty = evidence.peers.reached > 0 ? .path : .upstream
            return self.router(
                refusal, evidence, role: "a router on the way",
                parties: GatewayFaults(noRoute: noRoute, refusal: .path, loop: .path))
        }
    }

    private struct GatewayFaults {
        let noRoute: FaultParty
        let refusal: FaultParty
        let loop: FaultParty
    }

    private static func router(
        _ refusal: ICMPError, _ evidence: FailureEvidence, role: String, parties: GatewayFaults
    ) -> Attribution {
        let said = refusal.sentence(about: evidence.peer, role: role)
        switch refusal.kind {
        case .noRoute: return Attribution(party: parties.noRoute, rung: .tcp, isCertain: true, evidence: [said])
        // The last router asked for the host in vain; or a router before it for the next one.
        case .hostUnreachable: return Attribution(party: .theirs, rung: .tcp, isCertain: false, evidence: [said])
        case .prohibited, .portUnreachable:
            return Attribution(party: parties.refusal, rung: .tcp, isCertain: true, evidence: [said])
        case .timeExceeded: return Attribution(party: parties.loop, rung: .tcp, isCertain: false, evidence: [said])
        case .other: return Attribution(party: parties.refusal, rung: .tcp, isCertain: false, evidence: [said])
        }
    }

    // No neighbour answered, or a filter of this host's says no.
    private static func own(_ refusal: ICMPError, _ evidence: FailureEvidence) -> Attribution {
        let said = refusal.sentence(about: evidence.peer, role: "this host")
        switch refusal.kind {
        case .hostUnreachable:
            let link = evidence.way?.interface ?? "the link"
            if let gateway = evidence.way?.gateway {
                return Attribution(
                    party: .gateway, rung: .gateway, isCertain: true,
                    evidence: ["the gateway \(gateway) does not answer on \(link)", said])
            }
            let host = evidence.peer.map { "\($0)" } ?? "the host"
            return Attribution(
                party: .theirs, rung: .tcp, isCertain: false, evidence: ["\(host) does not answer on \(link)", said])
        case .noRoute, .portUnreachable, .prohibited, .timeExceeded, .other:
            return Attribution(
                party: .mine, rung: .route, isCertain: true, evidence: ["a filter of this host's refuses it", said])
        }
    }
}

extension FailureEvidence {
    /// Who may have sent an ICMP error.
    enum Role {
        case thisHost, gateway, destination, router
    }

    func role(of refusal: ICMPError) -> Role {
        if refusal.offender == nil || refusal.isFrom(self.local) { return .thisHost }
        for path in [self.after.path, self.before.path] where refusal.isFrom(path?.source) { return .thisHost }
        if refusal.isFrom(self.peer) { return .destination }
        for path in [self.after.path, self.before.path] where refusal.isFrom(path?.gateway) { return .gateway }
        return .router
    }
}
