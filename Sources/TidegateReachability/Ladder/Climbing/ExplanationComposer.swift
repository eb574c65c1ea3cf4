internal import TidegateCore
internal import TidegateNetwork

/// Composes an explanation from what a climb found out; asks nobody, and forgets nothing.
enum ExplanationComposer {
    static func compose(_ findings: LadderFindings) -> Explanation {
        let ladders = findings.families.map { self.ladder($0, findings) }
        let addresses = findings.name?.addresses ?? [findings.target.target.address].compactMap(\.self)
        let wanted = Set(addresses.map(\.family))
        let contenders = wanted.isEmpty ? ladders : ladders.filter { wanted.contains($0.family) }
        let isReached = contenders.contains { self.isReached($0, findings.target) }
        let failing = isReached ? nil : self.furthest(contenders.isEmpty ? ladders : contenders)
        let failure = failing?.firstFailure
        let way = failing.flatMap { findings.ways[$0.family] }
        return Explanation(
            target: findings.target.description,
            addresses: addresses.filter { findings.families.contains($0.family) }, ladders: ladders,
            firstFailure: failure,
            party: failure.map { PartyClassifier.party(of: $0, way, isNameWrong: findings.name?.isNameWrong ?? false) }
                // What neither failed nor was reached is nobody's that can be told.
                ?? (isReached ? nil : .unknown),
            advice: self.advice(failure, way, findings, isReached: isReached))
    }

    // The ladder whose first failure is highest; IPv4 where both fail on the same rung.
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
        _ failure: RungReport?, _ way: WayFindings?, _ findings: LadderFindings, isReached: Bool
    ) -> String {
        guard let failure, let reason = failure.reason else {
            return Advice.nothingWrong(findings.target, isReached: isReached)
        }
        var place = Advice.Place(target: findings.target.target)
        let link = way.flatMap { LinkRungs.link(of: $0, reason, among: findings.links) }
        place.link = link?.name ?? place.link
        place.gateway = way?.verdict.path?.gateway
        place.family = way?.subject.address.family ?? .ipv4
        place.resolver = findings.name?.servers.first?.server
        place.localResolver = findings.name?.deadLocalServer
        place.isResolverDeaf = findings.name?.servers.first?.outcomes.contains(.refused) ?? false
        place.missingRecord = findings.name?.missingRecord(findings.families)
        place.liveRival = way?.story.flatMap(DefaultRouteComparison.liveRival)
        if case .portal(let location)? = way?.internet.map(ConnectivityEvaluator.connectivity) {
            place.portal = location
        }
        place.status = way?.web[way?.subject.address ?? IPAddress(ipv4: 0)]?.status
        return Advice.sentence(for: reason, on: failure.rung, place)
    }

    // MARK: One family

    private static func ladder(_ family: AddressFamily, _ findings: LadderFindings) -> Explanation.Ladder {
        guard let way = findings.ways[family] else {
            return Explanation.Ladder(family: family, rungs: Rung.allCases.map(LadderDescriptions.notClimbed))
        }
        let web = self.web(way, findings)
        var gateway = self.gateway(way, web)
        if way.verdict.notes.contains(.thisHost) {
            gateway = RungReport(rung: .gateway, status: .notApplicable, evidence: ["the target is this host"])
        }
        let rungs =
            [self.monitor(findings)] + LinkRungs.judge(way, among: findings.links)
            + [RouteRung.judge(way), gateway, self.names(findings, family), self.internet(way)] + web
        return Explanation.Ladder(family: family, rungs: rungs)
    }

    private static func monitor(_ findings: LadderFindings) -> RungReport {
        if let blindness = findings.blindness {
            return RungReport(rung: .monitor, status: .bad, reason: .monitorDown, evidence: [blindness])
        }
        let health = findings.health
        let words = "\(findings.links.count) links read from the kernel"
        guard health.overruns > 0 else { return RungReport(rung: .monitor, status: .ok, evidence: [words]) }
        return RungReport(
            rung: .monitor, status: .ok, evidence: [words, "the kernel dropped messages \(health.overruns) times"])
    }

    private static func gateway(_ way: WayFindings, _ web: [RungReport]) -> RungReport {
        guard way.verdict.level >= .routed, let path = way.verdict.path else {
            return LadderDescriptions.notClimbed(.gateway)
        }
        let report = GatewayRung.judge(path, way.gateway, passive: way.passive)
        // A connection came about, or another host's answer came back: the gateway forwards.
        if web.first?.status == .ok {
            return GatewayRung.outweighed(report, by: "a connection came about through it all the same")
        }
        guard let refusal = way.web[way.subject.address]?.refusal, refusal.offender != nil,
            !refusal.isFrom(path.source), path.gateway != nil
        else { return report }
        return GatewayRung.outweighed(report, by: "an ICMP error came back through it")
    }

    private static func names(_ findings: LadderFindings, _ family: AddressFamily) -> RungReport {
        guard let name = findings.name else {
            return RungReport(rung: .dns, status: .notApplicable, evidence: ["the target is an address"])
        }
        return DNSRung.judge(name, family: family, among: findings.families)
    }

    private static func internet(_ way: WayFindings) -> RungReport {
        guard way.verdict.level >= .routed || way.verdict.level == .unknown else {
            return LadderDescriptions.notClimbed(.internet)
        }
        return InternetRung.judge(way.internet, passive: way.passive)
    }

    private static func web(_ way: WayFindings, _ findings: LadderFindings) -> [RungReport] {
        guard case .target(let address) = way.subject else {
            return WebRungs.judge(findings.target, nil, at: nil, path: nil)
        }
        var rungs = WebRungs.judge(findings.target, way.web[address], at: address, path: way.verdict.path)
        let others = way.web.filter { $0.key != address }.sorted { $0.key.description < $1.key.description }
        if let stage = findings.target.lastStage, !rungs.isEmpty {
            rungs[0].evidence += others.map { other, answer in
                let words = WebRungs.failure(answer, stage).map { VerdictDescriptions.phrase($0) } ?? "answers"
                return "its other address \(other): \(words)"
            }
        }
        guard let last = rungs.last, last.status == .ok, findings.target.location?.scheme == .http,
            case .portal? = way.internet.map(ConnectivityEvaluator.connectivity)
        else { return rungs }
        rungs[rungs.count - 1] = RungReport(
            rung: .http, status: .unknown, evidence: last.evidence + ["the captive portal may have answered this"])
        return rungs
    }
}

extension NameFindings {
    /// True where a resolver that works otherwise says that the name is the trouble.
    var isNameWrong: Bool {
        // An address of the other family proves the resolver's word.
        !self.addresses.isEmpty
            || self.servers.contains { server in
                let saysNo = server.answers.values.contains { $0 == .nameNotFound || $0 == .noData }
                return saysNo && server.control != .nameNotFound
            }
    }

    /// What a name that exists has none of; nil where it does not exist, or has what is asked for.
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
