internal import TidegateCore
internal import TidegateNetwork

/// Judges names and those who resolve them.
enum DNSRung {
    /// The rung for a target in one family.
    ///
    /// The route to each resolver counts first; what the system itself came to outweighs what single servers say.
    /// A name without an address in any of the families asked about is a failure; in one of several it is none.
    static func judge(
        _ findings: NameFindings, family: AddressFamily, among families: [AddressFamily] = AddressFamily.allCases
    ) -> RungReport {
        let evidence = self.servers(findings)
        if !findings.addresses.isEmpty {
            let isWanted = !findings.addresses.contains { families.contains($0.family) }
            return self.resolved(findings, family, isWanted: isWanted, evidence)
        }
        let (reason, words) = self.failure(findings)
        return RungReport(
            rung: .dns, status: reason == nil ? .unknown : .bad, reason: reason, evidence: words + evidence)
    }

    /// The rung for resolvers alone, as a condition asks for it: one that answers is enough.
    static func judge(resolvers: [ResolverFindings]) -> RungReport {
        let evidence = resolvers.flatMap(self.words)
        if resolvers.contains(where: { $0.outcomes.contains(where: \.isAnswer) }) {
            return RungReport(rung: .dns, status: .ok, evidence: evidence)
        }
        let reason = self.reason(resolvers)
        return RungReport(rung: .dns, status: reason == nil ? .unknown : .bad, reason: reason, evidence: evidence)
    }

    private static func resolved(
        _ findings: NameFindings, _ family: AddressFamily, isWanted: Bool, _ evidence: [String]
    ) -> RungReport {
        let own = findings.addresses.filter { $0.family == family }
        guard !own.isEmpty else {
            let kind = family == .ipv4 ? "IPv4" : "IPv6"
            return RungReport(
                rung: .dns, status: isWanted ? .bad : .notApplicable, reason: isWanted ? .nameNotFound : nil,
                evidence: ["\(findings.name) has no \(kind) address"] + evidence)
        }
        let list = own.prefix(4).map(\.description).joined(separator: ", ")
        let more = own.count > 4 ? " and \(own.count - 4) more" : ""
        return RungReport(rung: .dns, status: .ok, evidence: ["\(findings.name) is \(list)\(more)"] + evidence)
    }

    private static func failure(_ findings: NameFindings) -> (UnreachableReason?, [String]) {
        let answers = findings.servers.flatMap { $0.answers.values }
        // What a server said about the name is more telling than the system's word for it.
        if answers.contains(where: { $0 == .nameNotFound || $0 == .noData }) {
            let isEmpty = answers.contains(.noData)
            let words = isEmpty ? "\(findings.name) exists but has no address" : "\(findings.name) does not exist"
            return (.nameNotFound, [words])
        }
        if let reason = self.reason(findings.servers) { return (reason, []) }
        switch findings.system {
        case .failure(let failure)?: return (failure.reason, ["the system's resolver gave no address"])
        case .success?, nil: return (nil, ["no answer about \(findings.name) yet"])
        }
    }

    // Whoever comes nearest to an answer says what is wrong.
    private static func reason(_ servers: [ResolverFindings]) -> UnreachableReason? {
        let routed = servers.filter { $0.verdict.level >= .routed || $0.verdict.level == .unknown }
        guard !routed.isEmpty else { return servers.isEmpty ? nil : .resolverNoRoute }
        let outcomes = routed.flatMap(\.outcomes)
        if outcomes.contains(where: { if case .failed = $0 { true } else { $0 == .refused } }) {
            return .resolverFailed
        }
        if outcomes.contains(.timedOut) { return .resolverTimeout }
        return outcomes.contains { if case .unreachable = $0 { true } else { false } } ? .resolverNoRoute : nil
    }

    private static func servers(_ findings: NameFindings) -> [String] { findings.servers.flatMap(self.words) }

    private static func words(_ server: ResolverFindings) -> [String] {
        guard server.verdict.level >= .routed || server.verdict.level == .unknown else {
            let reason = server.verdict.reason.map { VerdictDescriptions.phrase($0) } ?? "no route"
            return ["resolver \(server.server): \(reason), so that it was not asked"]
        }
        var words = DNSQuestion.RecordType.allCases.compactMap { type -> String? in
            guard let outcome = server.answers[type] else { return nil }
            let name = type == .a ? "A" : "AAAA"
            return "resolver \(server.server): \(name) \(self.words(outcome, server))"
        }
        // A server that is silent about one kind of record is silent about the other.
        if words.count == 2, Set(server.answers.values).count == 1, let outcome = server.answers[.a], !outcome.isAnswer
        {
            words = ["resolver \(server.server): \(self.words(outcome, server))"]
        }
        if let control = server.control {
            words.append("resolver \(server.server): \(self.words(control, server)) for a name that exists")
        }
        return words
    }

    private static func words(_ outcome: DNSOutcome, _ server: ResolverFindings) -> String {
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
        case .unreachable(nil): return "this host has no way to it"
        case .timedOut: return "no answer in time"
        }
    }
}
