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
        let failing = isReached ? nil : self.furthest(contenders.isEmpty ? ladders : contenders, findings)
        let own = addresses.filter { findings.families.contains($0.family) }
        var explanation = Explanation(
            target: findings.target.description, addresses: own, ladders: ladders, conclusion: .works)
        if isReached {
            let reached = ReachedFindings(findings: findings, ladders: ladders)
            explanation.findings = reached.clauses
            explanation.failingFamilies = reached.failing.filter { $0.cause != .unknown(.oneCheck) }.map(\.family)
            explanation.conclusion = explanation.findings.isEmpty ? .works : .worksBut
            return explanation
        }
        // The party stays unknown if no ladder failed or reached the target.
        var cause = Cause.unknown(.notEnoughTime)
        explanation.conclusion = .notChecked
        if let failing {
            cause = failing.cause ?? .unknown(.silence)
            explanation.conclusion = failing.firstFailure?.rung == .monitor ? .notChecked : .broken
            explanation.firstFailure = failing.firstFailure
            explanation.findings = ReachedFindings(findings: findings, ladders: ladders).proxies
        }
        if findings.lackedDescriptor, failing?.firstFailure?.rung.isOfKernel != true {
            (cause, explanation.conclusion, explanation.firstFailure) = (.thisHost(.noDescriptor), .notChecked, nil)
        }
        explanation.cause = cause
        explanation.party = cause.party
        explanation.advice = cause.advice(for: findings.target.target)
        if let failing, cause.isOfWayOut, let path = findings.paths[failing.family], !path.otherWays.isEmpty {
            let used = "This host goes out by \(path.verdict.path?.interface ?? "another link")"
            let others = path.otherWays.map(\.sentence).joined(separator: "; ")
            explanation.advice += " \(used); \(others)."
        }
        return explanation
    }

    // The ladder whose first failure is highest; IPv4 if they are equal. If its party is unknown, the other ladder
    // counts if it shows that the way out is dead. A family without a route is not used while the other one has a route.
    private static func furthest(
        _ ladders: [Explanation.Ladder], _ findings: LadderFindings
    ) -> Explanation.Ladder? {
        func order(_ ladder: Explanation.Ladder) -> Int { ladder.firstFailure?.rung.order ?? -1 }
        let all = ladders.filter { $0.firstFailure != nil }
        let used = all.filter { findings.paths[$0.family]?.hasRoute ?? false }
        let failing = used.isEmpty ? all : used
        let best = failing.max { order($0) < order($1) }
        guard best?.cause?.party == .unknown else { return best }
        return failing.first { $0.cause?.party.isWayOut ?? false } ?? best
    }

    private static func isReached(_ ladder: Explanation.Ladder, _ target: ExplainTarget) -> Bool {
        guard !target.isInternet else {
            // If the daemon must not walk towards the internet, an answering resolver is the only evidence.
            return (ladder.firstFailure == nil || ladder.cause == .unknown(.oneCheck))
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

extension Cause {
    /// True if another way out may work instead.
    var isOfWayOut: Bool {
        switch self {
        case .thisHost(.staticNeighbour), .thisHost(.reversePathFilter): true
        default: self.party.isWayOut
        }
    }
}

/// Findings about a target that was reached.
struct ReachedFindings {
    let findings: LadderFindings
    let ladders: [Explanation.Ladder]

    /// The clauses, most important first.
    var clauses: [String] {
        self.otherFamily + self.otherWays + self.otherAddresses + self.servers + self.slowness + self.certificates
            + self.authorities + self.proxies
    }

    /// The ladders that fail although their family has an address of the target, or a default route.
    var failing: [Explanation.Ladder] {
        self.ladders.filter { ladder in
            guard ladder.firstFailure != nil else { return false }
            guard self.findings.target.isInternet else {
                return ladder.cause == .unknown(.oneCheck)
                    || self.findings.name?.addresses.contains { $0.family == ladder.family } ?? true
            }
            // No provider carries packets of unique local addresses.
            let verdict = self.findings.paths[ladder.family]?.verdict ?? .unknown
            return verdict.level >= .routed && !verdict.notes.contains(.uniqueLocalSource)
        }
    }

    private var otherWays: [String] {
        self.findings.families.flatMap { family in
            self.findings.paths[family]?.otherWays.filter(\.isBroken).map(\.sentence) ?? []
        }
    }

    private var otherFamily: [String] {
        self.failing.compactMap { ladder in
            guard let failure = ladder.firstFailure else { return nil }
            let isOneCheck = ladder.cause == .unknown(.oneCheck)
            // The target was reached over this family anyway.
            if isOneCheck || ladder.rungs.contains(where: { $0.rung == .tcp && $0.status == .ok }),
                failure.rung == .internet
            {
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
        guard let servers = self.findings.name?.servers else { return [] }
        return self.search
            + servers.enumerated().compactMap { position, server in
                let place = position == 0 && servers.count > 1 ? "the first name server" : "the name server"
                let cost = position == 0 ? ", which delays every lookup" : ""
                if let lateness = server.lateness {
                    return "\(place) \(server.server) answers after \(lateness.shortText)\(cost)"
                }
                if case .answered? = server.answers[.a], server.answers[.aaaa] == .timedOut {
                    return "\(place) \(server.server) leaves questions for IPv6 addresses (AAAA) unanswered, for which "
                        + "programs wait"
                }
                guard servers.count > 1, !server.outcomes.isEmpty, !server.hasAnswered else { return nil }
                // An error is an answer, after which programs ask the next server at once.
                if case .failed(let code)? = server.outcomes.first(where: {
                    if case .failed = $0 { true } else { false }
                }) {
                    return "\(place) \(server.server) answers with \(code)"
                }
                return "\(place) \(server.server) does not answer\(cost)"
            }
    }

    // Programs ask one name after the other (resolv.conf(5)).
    private var search: [String] {
        guard let name = self.findings.name, let delay = name.delay, name.searched > 0,
            delay * name.searched >= Thresholds.slowName
        else { return [] }
        return [
            "names of the search list are asked before \(name.name), which takes programs "
                + "\((delay * name.searched).shortText) (ndots in resolv.conf)"
        ]
    }

    private var slowness: [String] {
        let longest = self.answers.compactMap(\.phases.processing).max() ?? .zero
        return longest < Thresholds.slowFirstByte
            ? [] : ["the first byte came after \(longest.shortText)"]
    }

    private var certificates: [String] {
        let certificates = self.answers.compactMap(\.certificate)
        if let bare = certificates.first(where: \.names.isEmpty) {
            return [
                "browsers refuse the certificate: it has no subject alternative name, only the subject \(bare.subject)"
            ]
        }
        let ends = certificates.compactMap { certificate in certificate.expiry.map { ($0, certificate.notAfter) } }
        guard let (end, text) = ends.min(by: { $0.0 < $1.0 }) else { return [] }
        let days = Int((end.seconds - self.findings.wallTime.seconds) / 86_400)
        guard days < Thresholds.certificateDays else { return [] }
        return ["the certificate has \(days) day\(days == 1 ? "" : "s") left (until \(text))"]
    }

    // Private authorities may sign for private addresses.
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

    /// A proxy that may be required here; also useful if the target was not reached.
    var proxies: [String] {
        guard let proxy = self.findings.target.unusedProxy else { return [] }
        return ["the environment names the proxy \(proxy), which was not used (--proxy)"]
    }

    // The answers at the addresses that represent their families.
    private var answers: [HTTPCheck.Result] { self.paths.compactMap { $0.web[$0.subject.address] } }

    private var paths: [PathFindings] { self.findings.families.compactMap { self.findings.paths[$0] } }
}
