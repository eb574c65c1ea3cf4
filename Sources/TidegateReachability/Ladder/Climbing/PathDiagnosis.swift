internal import TidegateCore
internal import TidegateNetwork

/// One climb: it collects what there is to find out before its deadline, and judges nothing.
struct PathDiagnosis: Sendable {
    let climber: PathDiagnostics
    private let deadline: MonotonicTime

    // So many addresses of a family are tried at once; the first decides what is told about the way.
    static let mostAddresses = 3
    private static let udpDNS = RouteQuestion.udp

    init(_ climber: PathDiagnostics, within limit: Duration) {
        self.climber = climber
        self.deadline = climber.time.monotonic() + limit
    }

    var rest: Duration { max(.milliseconds(1), self.deadline - self.climber.time.monotonic()) }

    // MARK: Everything about a target

    func findings(_ target: ExplainTarget, _ families: [AddressFamily]) async -> LadderFindings {
        var findings = LadderFindings(target: target, families: families)
        _ = await self.climber.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        if target.target.address == nil { findings.name = await self.names(target.target.host, families) }
        let subjects = await self.subjects(target, findings.name, families)
        let wanted = subjects.flatMap { [$0.subject.address] + $0.candidates }
        let survey = await self.survey(wanted.uniqued, port: target.target.port)
        findings.blindness = survey.blindness
        findings.health = survey.health
        findings.links = survey.links
        await withTaskGroup(of: (AddressFamily, WayFindings).self) { group in
            for subject in subjects {
                group.addTask { (subject.family, await self.way(subject, survey, target)) }
            }
            for await (family, way) in group { findings.ways[family] = way }
        }
        return findings
    }

    private struct Subject: Sendable {
        var family: AddressFamily
        var subject: WayFindings.Subject
        var addresses: [IPAddress] = []

        /// The target's addresses that are tried.
        var candidates: [IPAddress] { Array(self.addresses.prefix(PathDiagnosis.mostAddresses)) }
    }

    // The way to the target; while its name is unresolved the way to whoever could resolve it, or just out.
    private func subjects(
        _ target: ExplainTarget, _ name: NameFindings?, _ families: [AddressFamily]
    ) async -> [Subject] {
        if let address = target.target.address {
            return [Subject(family: address.family, subject: .target(address), addresses: [address])]
        }
        let addresses = name?.addresses ?? []
        let servers = addresses.isEmpty ? self.climber.tools.settings().finalServers.filter { !$0.isLoopback } : []
        let survey = await self.climber.monitor.survey(
            RouteQuery(questions: servers.map(self.question), families: families))
        return families.compactMap { family in
            let own = addresses.filter { $0.family == family }
            if let first = own.first { return Subject(family: family, subject: .target(first), addresses: own) }
            let sentinel = survey.sentinels[family] ?? ReachabilityConfiguration.defaultSentinels[family]?.first
            guard let sentinel else { return nil }
            let isOut = survey.ways[sentinel].map { $0.verdict.level >= .routed } ?? false
            let candidates = servers.filter { $0.family == family }
            let routed = candidates.first { (survey.ways[$0]?.verdict.level ?? .none) >= .routed }
            // With a way out, a resolver without a route is the resolver's trouble and not the route's.
            let server = routed ?? (isOut ? nil : candidates.first)
            return Subject(family: family, subject: server.map { .resolver($0) } ?? .sentinel(sentinel))
        }
    }

    func question(_ server: IPAddress) -> RouteQuestion {
        RouteQuestion(server, port: self.climber.tools.dnsPort, ipProtocol: PathDiagnosis.udpDNS)
    }

    private func survey(_ addresses: [IPAddress], port: UInt16?) async -> RouteReport {
        let asker = self.climber.monitor.asker
        return await self.climber.monitor.survey(
            RouteQuery(questions: addresses.map { asker.question($0, port: port) }))
    }

    // MARK: One way

    private func way(_ subject: Subject, _ survey: RouteReport, _ target: ExplainTarget) async -> WayFindings {
        // One address without a route does not keep a program from the others.
        let usable = subject.candidates.filter { survey.ways[$0]?.verdict.mayBeUsed ?? true }
        var way = self.wayFindings(usable.first.map { .target($0) } ?? subject.subject, survey)
        way.addresses = subject.addresses
        for address in subject.candidates where !usable.contains(address) && address != way.subject.address {
            way.unrouted[address] = survey.ways[address]?.verdict
        }
        let isBlind = way.verdict.level == .unknown
        guard way.verdict.level >= .routed || isBlind else { return way }
        let known = way
        async let gateway = isBlind ? known.gateway : self.poked(known)
        async let internet = self.climber.policy.urls.isEmpty ? nil : self.internet(subject.family)
        async let web = self.look(target, at: usable)
        way.gateway = await gateway
        way.internet = await internet
        way.web = await web
        guard let stage = target.lastStage, let best = WebRungs.furthest(usable, way.web, stage) else { return way }
        return best == way.subject.address ? way : self.moved(way, to: best, survey)
    }

    // The same way, told about another address of the target; what was heard of the gateway holds for the same one.
    private func moved(_ way: WayFindings, to address: IPAddress, _ survey: RouteReport) -> WayFindings {
        var other = self.wayFindings(.target(address), survey)
        if other.verdict.path?.gateway == way.verdict.path?.gateway { other.gateway = way.gateway }
        (other.addresses, other.unrouted) = (way.addresses, way.unrouted)
        (other.internet, other.web) = (way.internet, way.web)
        return other
    }

    private func wayFindings(_ subject: WayFindings.Subject, _ survey: RouteReport) -> WayFindings {
        var findings = WayFindings(subject: subject)
        guard let way = survey.ways[subject.address] else { return findings }
        findings.verdict = way.verdict
        findings.deadLink = way.deadLink
        findings.story = way.story
        findings.gateway = survey.gateway(subject.address)
        findings.passive = self.climber.monitor.passive(from: way.verdict.path?.source, at: self.now)
        return findings
    }

    private var now: MonotonicTime { self.climber.time.monotonic() }

    /// The default path of a family; nil where the kernel cannot be read.
    func defaultWay(_ family: AddressFamily, watching: Bool) async -> WayFindings? {
        _ = await self.climber.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        let survey = await self.climber.monitor.survey(
            RouteQuery(questions: [], families: [family], watchesGateways: watching))
        guard let sentinel = survey.sentinels[family] else { return nil }
        return self.wayFindings(.sentinel(sentinel), survey)
    }

    /// What is known of a way's gateway after a poke.
    func poked(_ way: WayFindings) async -> GatewayFindings {
        guard let path = way.verdict.path, let gateway = path.gateway, way.gateway.resolvesNeighbours else {
            return way.gateway
        }
        var findings = way.gateway
        findings.poke = await self.climber.tools.poke(gateway.onLink(path.index), within: self.rest)
        // The poke has made the kernel look for the neighbour: now it knows more.
        let address = way.subject.address
        let survey = await self.survey([address], port: nil)
        guard survey.blindness == nil else { return findings }
        var later = survey.gateway(address)
        later.poke = findings.poke
        return later
    }

    // MARK: The target itself

    private func look(_ target: ExplainTarget, at addresses: [IPAddress]) async -> [IPAddress: HTTPCheck.Result] {
        guard let stage = target.lastStage else { return [:] }
        let limit = self.rest
        return await withTaskGroup(of: (IPAddress, HTTPCheck.Result).self) { group in
            for address in addresses {
                let question = HTTPCheck.Request(url: target.url, address: address, lastStage: stage, limit: limit)
                group.addTask { (address, await self.climber.web.check(question)) }
            }
            var answers: [IPAddress: HTTPCheck.Result] = [:]
            for await (address, answer) in group { answers[address] = answer }
            return answers
        }
    }

    /// Whether one of several addresses answers; fails with the reason of the first.
    func check(
        _ addresses: [IPAddress], of target: Target, _ check: WaitCondition.HostCheck
    ) async -> HostCheckResult {
        let stage = Stage(check)
        let url = HTTPURL(scheme: check == .tls || target.port == 443 ? .https : .http, target: target)
        let limit = self.rest
        return await withTaskGroup(of: (Int, UnreachableReason?).self) { group in
            for (position, address) in addresses.prefix(8).enumerated() {
                let question = HTTPCheck.Request(url: url, address: address, lastStage: stage, limit: limit)
                group.addTask { (position, WebRungs.failure(await self.climber.web.check(question), stage)) }
            }
            var first: (position: Int, reason: UnreachableReason)?
            for await (position, reason) in group {
                guard let reason else {
                    group.cancelAll()
                    return .passed
                }
                if position < first?.position ?? .max { first = (position, reason) }
            }
            return .failed(first?.reason ?? .nameNotFound)
        }
    }

    /// What the check URLs say over a family.
    func internet(_ family: AddressFamily) async -> [InternetObservation] {
        let asker = InternetAsker(urls: self.climber.policy.urls, web: self.climber.web, limit: self.rest)
        return await asker.ask(family) { await self.resolve($0) }
    }
}

extension Verdict {
    /// True where a packet would be sent, or nobody can tell.
    fileprivate var mayBeUsed: Bool { self.level >= .routed || self.level == .unknown }
}

extension [IPAddress] {
    fileprivate var uniqued: [IPAddress] { self.reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}

extension Stage {
    fileprivate init(_ check: WaitCondition.HostCheck) {
        self =
            switch check {
            case .tcp: .connect
            case .tls: .tls
            case .http: .body
            }
    }
}

extension IPAddress {
    /// The same address with the zone that a link-local IPv6 one needs.
    fileprivate func onLink(_ index: UInt32) -> IPAddress {
        guard self.family == .ipv6, self.isLinkLocal, self.zone == 0 else { return self }
        return IPAddress(octets: self.octets, zone: index) ?? self
    }
}
