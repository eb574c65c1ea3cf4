internal import TidegateCore
internal import TidegateNetwork

/// Evaluates names and resolvers.
enum DNSRung {
    /// The rung for a target in one family.
    ///
    /// The route to each resolver counts first; the system's own answer outweighs those of single servers. A name
    /// without an address in any requested family is a failure; a name that lacks an address in one of several is not.
    static func report(
        _ findings: NameFindings, family: AddressFamily, among families: [AddressFamily] = AddressFamily.allCases
    ) -> RungReport {
        let evidence = findings.servers.flatMap(self.text)
        if !findings.addresses.isEmpty {
            let isWanted = !findings.addresses.contains { families.contains($0.family) }
            return self.resolved(findings, family, isWanted: isWanted, evidence)
        }
        let (reason, text) = self.failure(findings)
        return RungReport(
            rung: .dns, status: reason == nil ? .unknown : .bad, reason: reason, evidence: text + evidence)
    }

    /// The rung for resolvers alone, for a condition: one answering resolver is enough.
    static func report(resolvers: [ResolverFindings]) -> RungReport {
        let evidence = resolvers.flatMap(self.text)
        if resolvers.contains(where: \.hasAnswered) {
            return RungReport(
                rung: .dns, status: .ok, evidence: evidence, duration: resolvers.compactMap(\.delay).min())
        }
        let reason = self.reason(resolvers)
        return RungReport(rung: .dns, status: reason == nil ? .unknown : .bad, reason: reason, evidence: evidence)
    }

    private static func resolved(
        _ findings: NameFindings, _ family: AddressFamily, isWanted: Bool, _ evidence: [String]
    ) -> RungReport {
        let own = findings.addresses.filter { $0.family == family }
        guard !own.isEmpty else {
            return RungReport(
                rung: .dns, status: isWanted ? .bad : .notApplicable, reason: isWanted ? .nameNotFound : nil,
                evidence: ["\(findings.name) has no \(family.name) address"] + evidence)
        }
        let list = own.prefix(4).map(\.description).joined(separator: ", ")
        let more = own.count > 4 ? " and \(own.count - 4) more" : ""
        return RungReport(
            rung: .dns, status: .ok, evidence: ["\(findings.name) is \(list)\(more)"] + evidence,
            duration: findings.delay)
    }

    private static func failure(_ findings: NameFindings) -> (UnreachableReason?, [String]) {
        let answers = findings.servers.flatMap { $0.answers.values }
        // A server's answer about the name says more than the system's.
        if answers.contains(where: { $0 == .nameNotFound || $0 == .noData }) {
            let isEmpty = answers.contains(.noData)
            let text = isEmpty ? "\(findings.name) exists but has no address" : "\(findings.name) does not exist"
            return (.nameNotFound, [text])
        }
        if let reason = self.reason(findings.servers) { return (reason, []) }
        switch findings.system {
        case .failure(let failure)?: return (failure.reason, ["the system's resolver gave no address"])
        case .success?, nil: return (nil, ["no answer about \(findings.name) yet"])
        }
    }

    // The resolver that came closest to an answer provides the reason.
    private static func reason(_ servers: [ResolverFindings]) -> UnreachableReason? {
        let routed = servers.filter(\.verdict.isUsable)
        guard !routed.isEmpty else { return servers.isEmpty ? nil : .resolverNoRoute }
        let outcomes = routed.flatMap(\.outcomes)
        if outcomes.contains(where: { if case .failed = $0 { true } else { $0 == .refused } }) {
            return .resolverFailed
        }
        if outcomes.contains(.timedOut) { return .resolverTimeout }
        return outcomes.contains { if case .unreachable = $0 { true } else { false } } ? .resolverNoRoute : nil
    }

    private static func text(_ server: ResolverFindings) -> [String] {
        guard server.verdict.isUsable else {
            let reason = server.verdict.reason.map { $0.description } ?? "no route"
            return ["resolver \(server.server): \(reason), so it was not queried"]
        }
        var lines = DNSQuestion.RecordType.allCases.compactMap { type -> String? in
            guard let outcome = server.answers[type] else { return nil }
            let name = type == .a ? "A" : "AAAA"
            return "resolver \(server.server): \(name) \(self.text(outcome, server))"
        }
        // A single line for both record types if the server answered neither.
        if lines.count == 2, Set(server.answers.values).count == 1, let outcome = server.answers[.a], !outcome.isAnswer
        {
            lines = ["resolver \(server.server): \(self.text(outcome, server))"]
        }
        if let lateness = server.lateness {
            lines.insert("resolver \(server.server): answers after \(lateness.shortText)", at: 0)
        }
        if let control = server.control {
            let answer = self.text(control, server)
            let isRight = if case .answered = control { true } else { false }
            lines.append(
                "resolver \(server.server): "
                    + (isRight
                        ? "answers the control question (\(PathDiagnosis.controlName))"
                        : "\(answer) for a name that \(server.hasOnlyKept ? "it has not kept" : "exists")"))
        }
        return lines
    }

    private static func text(_ outcome: DNSOutcome, _ server: ResolverFindings) -> String {
        switch outcome {
        case .answered(let addresses, let timeToLive):
            let list = addresses.prefix(3).map(\.description).joined(separator: ", ")
            return "\(list)\(addresses.count > 3 ? ", …" : ""), TTL \(timeToLive.components.seconds) s"
        case .nameNotFound: return "NXDOMAIN"
        case .noData: return "no such record"
        case .failed(let code): return code
        case .refused:
            let place = server.server.isLoopback ? ", on this host itself" : ""
            return "nothing listens at port 53\(place) (ECONNREFUSED)"
        case .unreachable(let refusal?):
            return LadderDescriptions.refusal(
                refusal, own: server.verdict.path?.source, gateway: server.verdict.path?.gateway)
        case .unreachable(nil): return "this host does not send to it"
        case .timedOut: return "no answer in time"
        }
    }
}
