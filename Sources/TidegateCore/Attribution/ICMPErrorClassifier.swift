/// Decides whose failure it was by an ICMP error: its sender, and what it says.
enum ICMPErrorClassifier {
    static func attribution(of error: ICMPError, _ evidence: FailureEvidence) -> Attribution {
        switch evidence.sender(of: error) {
        case .thisHost: return self.own(error, evidence)
        case .destination:
            return Attribution(
                party: .theirs, rung: .tcp, isCertain: true,
                evidence: [error.sentence(about: evidence.peer, role: "the host itself")])
        case .gateway:
            return self.router(
                error, evidence, role: "the gateway",
                parties: Parties(noRoute: .upstream, refusal: .gateway, loop: .upstream))
        case .router:
            // Attempts to other hosts on the same path show whether the router is near this host or near the target.
            let noRoute: FaultParty = evidence.peers.reached > 0 ? .path : .upstream
            return self.router(
                error, evidence, role: "a router on the way",
                parties: Parties(noRoute: noRoute, refusal: .path, loop: .path))
        }
    }

    private struct Parties {
        let noRoute: FaultParty
        let refusal: FaultParty
        let loop: FaultParty
    }

    private static func router(
        _ error: ICMPError, _ evidence: FailureEvidence, role: String, parties: Parties
    ) -> Attribution {
        let clause = error.sentence(about: evidence.peer, role: role)
        switch error.kind {
        case .noRoute: return Attribution(party: parties.noRoute, rung: .tcp, isCertain: true, evidence: [clause])
        // The last router did not find the host on its link; or a router before it did not find the next one.
        case .hostUnreachable: return Attribution(party: .theirs, rung: .tcp, isCertain: false, evidence: [clause])
        case .prohibited, .portUnreachable:
            return Attribution(party: parties.refusal, rung: .tcp, isCertain: true, evidence: [clause])
        case .timeExceeded: return Attribution(party: parties.loop, rung: .tcp, isCertain: false, evidence: [clause])
        case .other: return Attribution(party: parties.refusal, rung: .tcp, isCertain: false, evidence: [clause])
        }
    }

    // No neighbour answered, or a filter of this host refused.
    private static func own(_ error: ICMPError, _ evidence: FailureEvidence) -> Attribution {
        let clause = error.sentence(about: evidence.peer, role: "this host")
        switch error.kind {
        case .hostUnreachable:
            let link = evidence.path?.interface ?? "the link"
            if let gateway = evidence.path?.gateway {
                return Attribution(
                    party: .gateway, rung: .gateway, isCertain: true,
                    evidence: ["the gateway \(gateway) does not answer on \(link)", clause])
            }
            let host = evidence.peer.map { "\($0)" } ?? "the host"
            return Attribution(
                party: .theirs, rung: .tcp, isCertain: false, evidence: ["\(host) does not answer on \(link)", clause])
        case .noRoute, .portUnreachable, .prohibited, .timeExceeded, .other:
            return Attribution(
                party: .mine, rung: .route, isCertain: true, evidence: ["a filter of this host refuses it", clause])
        }
    }
}

extension FailureEvidence {
    /// The host that sent an ICMP error.
    enum Sender {
        case thisHost, gateway, destination, router
    }

    func sender(of error: ICMPError) -> Sender {
        if error.offender == nil || error.isFrom(self.local) { return .thisHost }
        for path in [self.after.path, self.before.path] where error.isFrom(path?.source) { return .thisHost }
        if error.isFrom(self.peer) { return .destination }
        for path in [self.after.path, self.before.path] where error.isFrom(path?.gateway) { return .gateway }
        return .router
    }
}
