internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// What is worth knowing about a target that was reached.
struct ReachedFindings {
    let findings: LadderFindings
    let ladders: [Explanation.Ladder]

    /// The clauses, what matters most first.
    var clauses: [String] {
        self.otherFamily + self.otherAddresses + self.servers + self.slowness + self.certificates + self.authorities
            + self.proxies
    }

    private var otherFamily: [String] {
        self.ladders.compactMap { ladder in
            guard let failure = ladder.firstFailure,
                self.findings.name?.addresses.contains(where: { $0.family == ladder.family }) ?? true
            else { return nil }
            // The target was reached over this family all the same.
            if ladder.rungs.contains(where: { $0.rung == .tcp && $0.status == .ok }), failure.rung == .internet {
                return
                    "the internet check over \(ladder.family.name) fails: \(failure.evidence.joined(separator: "; "))"
            }
            let text = ladder.cause?.description ?? failure.evidence.first ?? failure.rung.rawValue
            return "\(ladder.family.name) does not work: \(text)"
        }
    }

    private var otherAddresses: [String] {
        guard let stage = self.findings.target.lastStage else { return [] }
        return self.ladders.filter { $0.firstFailure == nil }.flatMap { ladder -> [String] in
            guard let path = self.findings.paths[ladder.family] else { return [] }
            return path.web.filter { $0.key != path.subject.address }
                .sorted { $0.key.description < $1.key.description }.compactMap { address, answer in
                    WebRungs.failure(answer, stage).map { "its address \(address) does not work: \($0)" }
                }
        }
    }

    private var servers: [String] {
        guard let name = self.findings.name, name.servers.count > 1 else { return [] }
        return name.servers.enumerated().compactMap { position, server in
            guard !server.outcomes.isEmpty, !server.outcomes.contains(where: \.isAnswer) else { return nil }
            let place = position == 0 ? "the first name server" : "the name server"
            let cost = position == 0 ? ", which delays every look-up" : ""
            return "\(place) \(server.server) does not answer\(cost)"
        }
    }

    private var slowness: [String] {
        let longest = self.answers.compactMap(\.phases.processing).max() ?? .zero
        return longest < Thresholds.slowFirstByte
            ? [] : ["the first byte came after \(LadderDescriptions.time(longest))"]
    }

    private var certificates: [String] {
        let certificates = self.answers.compactMap(\.certificate)
        let ends = certificates.compactMap { certificate in certificate.expiry.map { ($0, certificate.notAfter) } }
        guard let (end, text) = ends.min(by: { $0.0 < $1.0 }) else { return [] }
        let days = Int((end.seconds - self.findings.wallTime.seconds) / 86_400)
        guard days < Thresholds.certificateDays else { return [] }
        return ["the certificate has \(days) day\(days == 1 ? "" : "s") left (until \(text))"]
    }

    // Private addresses are expected to be vouched for by private authorities.
    private var authorities: [String] {
        let signers = self.paths.compactMap { path -> LocalAuthority? in
            path.subject.address.isGlobal ? path.web[path.subject.address]?.certificate?.localAuthority : nil
        }
        guard let signer = signers.first else { return [] }
        return [
            "a private authority is in between: \(signer.name), which was added to this host (\(signer.file)), signed "
                + "the certificate"
        ]
    }

    /// A proxy that may be needed here; worth knowing about a target that was not reached, too.
    var proxies: [String] {
        guard let proxy = self.findings.target.unusedProxy else { return [] }
        return ["the environment names the proxy \(proxy), which was not used (--proxy)"]
    }

    // The answers at the addresses that stand for their families.
    private var answers: [HTTPCheck.Result] { self.paths.compactMap { $0.web[$0.subject.address] } }

    private var paths: [PathFindings] { self.findings.families.compactMap { self.findings.paths[$0] } }
}
