internal import TidegateCore
internal import TidegateNetwork

/// Composes an explanation from the findings of a diagnosis.
enum ExplanationComposer {
    static func compose(_ findings: LadderFindings) -> Explanation {
        let ladders = findings.families.map { self.ladder($0, findings) }
        let addresses = findings.name?.addresses ?? [findings.target.target.address].compactMap(\.self)
        let wanted = Set(addresses.map(\.family))
        let contenders = wanted.isEmpty ? ladders : ladders.filter { wanted.contains($0.family) }
        let isReached = contenders.contains { self.isReached($0, findings.target) }
        let failing = isReached ? nil : self.furthest(contenders.isEmpty ? ladders : contenders)
        let failure = failing?.firstFailure
        let path = failing.flatMap { findings.paths[$0.family] }
        return Explanation(
            target: findings.target.description,
            addresses: addresses.filter { findings.families.contains($0.family) }, ladders: ladders,
            firstFailure: failure,
            party: failure.map { PartyClassifier.party(of: $0, path, isNameWrong: findings.name?.isNameWrong ?? false) }
                // Of what neither failed nor was reached, the party is not known.
                ?? (isReached ? nil : .unknown),
            advice: self.advice(failure, path, findings, isReached: isReached))
    }

    // The ladder whose first failure is highest; IPv4 if both fail on the same rung.
    private static func furthest(_ ladders: [Explanation.Ladder]) -> Explanation.Ladder? {
        var best: (ladder: Explanation.Ladder, order: Int)?
        for ladder in ladders {
            guard let failure = ladder.firstFailure else { continue }
            let order = LinkRungs.order(failure.rung)
            if order > best?.order ?? -1 { best = (ladder, order) }
        }
        return best?.ladder
    }

    private static func isReached(_ ladder: Explanation.Ladder, _ target: ExplainTarget) -> Bool {
        guard let stage = target.lastStage else {
            let isNamed = ladder.rungs.contains { $0.rung == .dns && [.ok, .notApplicable].contains($0.status) }
            return ladder.firstFailure == nil && isNamed
                && ladder.rungs.contains { $0.rung == .route && $0.status == .ok }
        }
        let rung: Rung =
            switch stage {
            case .resolve, .connect: .tcp
            case .tls: .tls
            case .request, .response, .body: .http
            }
        return ladder.rungs.first { $0.rung == rung }?.status == .ok
    }

    private static func advice(
        _ failure: RungReport?, _ path: PathFindings?, _ findings: LadderFindings, isReached: Bool
    ) -> String {
        guard let failure, let reason = failure.reason else {
            return Advice.nothingWrong(findings.target, isReached: isReached)
        }
        var context = Advice.Context(target: findings.target.target)
        let link = path.flatMap { LinkRungs.link(of: $0, reason, among: findings.links) }
        context.link = link?.name ?? context.link
        context.gateway = path?.verdict.path?.gateway
        context.family = path?.subject.address.family ?? .ipv4
        context.resolver = findings.name?.servers.first?.server
        context.localResolver = findings.name?.deadLocalServer
        context.isResolverPortClosed = findings.name?.servers.first?.outcomes.contains(.refused) ?? false
        context.missingRecord = findings.name?.missingRecord(findings.families)
        context.liveAlternative = path?.explanation.flatMap(DefaultRouteComparison.liveAlternative)
        if case .portal(let location)? = path?.internet.map(ConnectivityEvaluator.connectivity) {
            context.portal = location
        }
        context.status = path?.web[path?.subject.address ?? IPAddress(ipv4: 0)]?.status
        return Advice.sentence(for: reason, on: failure.rung, context)
    }

    // MARK: One family

    private static func ladder(_ family: AddressFamily, _ findings: LadderFindings) -> Explanation.Ladder {
        guard let path = findings.paths[family] else {
            return Explanation.Ladder(family: family, rungs: Rung.allCases.map(LadderDescriptions.notChecked))
        }
        let web = self.web(path, findings)
        var gateway = self.gateway(path, web)
        if path.verdict.notes.contains(.thisHost) {
            gateway = RungReport(rung: .gateway, status: .notApplicable, evidence: ["the target is this host"])
        }
        let rungs =
            [self.monitor(findings)] + LinkRungs.reports(path, among: findings.links)
            + [RouteRung.report(path), gateway, self.names(findings, family), self.internet(path)] + web
        return Explanation.Ladder(family: family, rungs: rungs)
    }

    private static func monitor(_ findings: LadderFindings) -> RungReport {
        if let unavailableReason = findings.unavailableReason {
            return RungReport(rung: .monitor, status: .bad, reason: .monitorDown, evidence: [unavailableReason])
        }
        let health = findings.health
        let text = "\(findings.links.count) links read from the kernel"
        guard health.overruns > 0 else { return RungReport(rung: .monitor, status: .ok, evidence: [text]) }
        return RungReport(
            rung: .monitor, status: .ok, evidence: [text, "the kernel dropped messages \(health.overruns) times"])
    }

    private static func gateway(_ path: PathFindings, _ web: [RungReport]) -> RungReport {
        guard path.verdict.level >= .routed, let networkPath = path.verdict.path else {
            return LadderDescriptions.notChecked(.gateway)
        }
        let report = GatewayRung.report(networkPath, path.gateway, passive: path.passive)
        // A connection, or an error of a host behind it, proves that the gateway forwards.
        if web.first?.status == .ok {
            return GatewayRung.provenWorking(report, by: "a connection through it succeeded all the same")
        }
        guard let refusal = path.web[path.subject.address]?.refusal, refusal.offender != nil,
            !refusal.isFrom(networkPath.source), networkPath.gateway != nil
        else { return report }
        return GatewayRung.provenWorking(report, by: "an ICMP error came back through it")
    }

    private static func names(_ findings: LadderFindings, _ family: AddressFamily) -> RungReport {
        guard let name = findings.name else {
            return RungReport(rung: .dns, status: .notApplicable, evidence: ["the target is an address"])
        }
        return DNSRung.report(name, family: family, among: findings.families)
    }

    private static func internet(_ path: PathFindings) -> RungReport {
        guard path.verdict.level >= .routed || path.verdict.level == .unknown else {
            return LadderDescriptions.notChecked(.internet)
        }
        return InternetRung.report(path.internet, passive: path.passive)
    }

    private static func web(_ path: PathFindings, _ findings: LadderFindings) -> [RungReport] {
        guard case .target(let address) = path.subject else {
            return WebRungs.reports(findings.target, nil, at: nil, path: nil)
        }
        var rungs = WebRungs.reports(findings.target, path.web[address], at: address, path: path.verdict.path)
        let others = path.web.filter { $0.key != address }.sorted { $0.key.description < $1.key.description }
        if let stage = findings.target.lastStage, !rungs.isEmpty {
            rungs[0].evidence += others.map { other, answer in
                let text = WebRungs.failure(answer, stage).map { $0.description } ?? "answers"
                return "its other address \(other): \(text)"
            }
        }
        guard let last = rungs.last, last.status == .ok, findings.target.location?.scheme == .http,
            case .portal? = path.internet.map(ConnectivityEvaluator.connectivity)
        else { return rungs }
        rungs[rungs.count - 1] = RungReport(
            rung: .http, status: .unknown, evidence: last.evidence + ["the captive portal may have answered this"])
        return rungs
    }
}

extension NameFindings {
    /// True if a resolver that works says that the name has no such address.
    var isNameWrong: Bool {
        // An address of the other family proves that the resolver works.
        !self.addresses.isEmpty
            || self.servers.contains { server in
                let saysNo = server.answers.values.contains { $0 == .nameNotFound || $0 == .noData }
                return saysNo && server.control != .nameNotFound
            }
    }

    /// The kind of record that an existing name lacks; nil if it does not exist, or has the wanted kind.
    fileprivate func missingRecord(_ families: [AddressFamily]) -> String? {
        if !self.addresses.isEmpty {
            guard let family = families.first, families.count == 1 else { return nil }
            return family == .ipv4 ? "IPv4 address" : "IPv6 address"
        }
        return self.servers.contains { $0.answers.values.contains(.noData) } ? "address" : nil
    }

    /// A resolver on this host at whose port nothing listens.
    fileprivate var deadLocalServer: IPAddress? {
        self.servers.first { $0.server.isLoopback && $0.outcomes.contains(.refused) }?.server
    }
}
