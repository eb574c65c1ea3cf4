internal import TidegateCore
internal import TidegateNetwork

/// One diagnosis: collects what can be found out before its deadline, without evaluating it.
struct PathDiagnosis: Sendable {
    let diagnostics: PathDiagnostics
    private let deadline: MonotonicTime

    // How many addresses of a family are tried at once; the first one's path is explained.
    static let mostAddresses = 3
    private static let udpDNS = RouteQuestion.udp

    init(_ diagnostics: PathDiagnostics, within limit: Duration) {
        self.diagnostics = diagnostics
        self.deadline = diagnostics.time.monotonic() + limit
    }

    var rest: Duration { max(.milliseconds(1), self.deadline - self.diagnostics.time.monotonic()) }

    // MARK: Everything about a target

    func findings(_ target: ExplainTarget, _ families: [AddressFamily]) async -> LadderFindings {
        var findings = LadderFindings(target: target, families: families)
        _ = await self.diagnostics.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        if target.target.address == nil { findings.name = await self.names(target.target.host, families) }
        let subjects = await self.subjects(target, findings.name, families)
        let wanted = subjects.flatMap { [$0.subject.address] + $0.candidates }
        let report = await self.report(wanted.uniqued, port: target.target.port)
        findings.unavailableReason = report.unavailableReason
        findings.health = report.health
        findings.links = report.links
        await withTaskGroup(of: (AddressFamily, PathFindings).self) { group in
            for subject in subjects {
                group.addTask { (subject.family, await self.path(subject, report, target)) }
            }
            for await (family, path) in group { findings.paths[family] = path }
        }
        return findings
    }

    private struct Subject: Sendable {
        var family: AddressFamily
        var subject: PathFindings.Subject
        var addresses: [IPAddress] = []

        /// The target's addresses that are tried.
        var candidates: [IPAddress] { Array(self.addresses.prefix(PathDiagnosis.mostAddresses)) }
    }

    // The paths to the target; while its name is not resolved, to a resolver of the family, or to the internet.
    private func subjects(
        _ target: ExplainTarget, _ name: NameFindings?, _ families: [AddressFamily]
    ) async -> [Subject] {
        if let address = target.target.address {
            return [Subject(family: address.family, subject: .target(address), addresses: [address])]
        }
        let addresses = name?.addresses ?? []
        let servers =
            addresses.isEmpty ? self.diagnostics.dependencies.settings().finalServers.filter { !$0.isLoopback } : []
        let report = await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: servers.map(self.question), families: families))
        return families.compactMap { family in
            let own = addresses.filter { $0.family == family }
            if let first = own.first { return Subject(family: family, subject: .target(first), addresses: own) }
            let sentinel = report.sentinels[family] ?? ReachabilityConfiguration.defaultSentinels[family]?.first
            guard let sentinel else { return nil }
            let isOut = report.routes[sentinel].map { $0.verdict.level >= .routed } ?? false
            let candidates = servers.filter { $0.family == family }
            let routed = candidates.first { (report.routes[$0]?.verdict.level ?? .none) >= .routed }
            // If the family has a default path, a missing route to the resolver is the resolver's failure.
            let server = routed ?? (isOut ? nil : candidates.first)
            return Subject(family: family, subject: server.map { .resolver($0) } ?? .sentinel(sentinel))
        }
    }

    func question(_ server: IPAddress) -> RouteQuestion {
        RouteQuestion(server, port: self.diagnostics.dependencies.dnsPort, ipProtocol: PathDiagnosis.udpDNS)
    }

    private func report(_ addresses: [IPAddress], port: UInt16?) async -> RouteReport {
        let context = self.diagnostics.monitor.lookupContext
        return await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: addresses.map { context.question($0, port: port) }))
    }

    // MARK: One path

    private func path(_ subject: Subject, _ report: RouteReport, _ target: ExplainTarget) async -> PathFindings {
        // One address without a route does not keep a program from the others.
        let usable = subject.candidates.filter { report.routes[$0]?.verdict.isUsable ?? true }
        var path = self.pathFindings(usable.first.map { .target($0) } ?? subject.subject, report)
        path.addresses = subject.addresses
        for address in subject.candidates where !usable.contains(address) && address != path.subject.address {
            path.unrouted[address] = report.routes[address]?.verdict
        }
        let isUnknown = path.verdict.level == .unknown
        guard path.verdict.level >= .routed || isUnknown else { return path }
        let known = path
        async let gateway = isUnknown ? known.gateway : self.probed(known)
        async let internet = self.diagnostics.policy.urls.isEmpty ? nil : self.internet(subject.family)
        async let web = self.checkTarget(target, at: usable)
        path.gateway = await gateway
        path.internet = await internet
        path.web = await web
        guard let stage = target.lastStage, let best = WebRungs.furthest(usable, path.web, stage) else { return path }
        return best == path.subject.address ? path : self.moved(path, to: best, report)
    }

    // The findings about another address of the target; those about the same gateway still hold.
    private func moved(_ path: PathFindings, to address: IPAddress, _ report: RouteReport) -> PathFindings {
        var other = self.pathFindings(.target(address), report)
        if other.verdict.path?.gateway == path.verdict.path?.gateway { other.gateway = path.gateway }
        (other.addresses, other.unrouted) = (path.addresses, path.unrouted)
        (other.internet, other.web) = (path.internet, path.web)
        return other
    }

    private func pathFindings(_ subject: PathFindings.Subject, _ report: RouteReport) -> PathFindings {
        var findings = PathFindings(subject: subject)
        guard let path = report.routes[subject.address] else { return findings }
        findings.verdict = path.verdict
        findings.deadLink = path.deadLink
        findings.explanation = path.explanation
        findings.gateway = report.gateway(subject.address)
        findings.passive = self.diagnostics.monitor.passive(from: path.verdict.path?.source, at: self.now)
        return findings
    }

    private var now: MonotonicTime { self.diagnostics.time.monotonic() }

    /// The default path of a family; nil if the kernel cannot be read.
    func defaultPath(_ family: AddressFamily, watching: Bool) async -> PathFindings? {
        _ = await self.diagnostics.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        let report = await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: [], families: [family], watchesGateways: watching))
        guard let sentinel = report.sentinels[family] else { return nil }
        return self.pathFindings(.sentinel(sentinel), report)
    }

    /// What is known about a path's gateway after a UDP probe.
    func probed(_ path: PathFindings) async -> GatewayFindings {
        guard let networkPath = path.verdict.path, let gateway = networkPath.gateway, path.gateway.resolvesNeighbours
        else {
            return path.gateway
        }
        var findings = path.gateway
        findings.udpProbe = await self.diagnostics.dependencies.udpProbe(
            gateway.onLink(networkPath.index), within: self.rest)
        // The probe has made the kernel resolve the neighbour.
        let address = path.subject.address
        let report = await self.report([address], port: nil)
        guard report.unavailableReason == nil else { return findings }
        var later = report.gateway(address)
        later.udpProbe = findings.udpProbe
        return later
    }

    // MARK: The target itself

    private func checkTarget(_ target: ExplainTarget, at addresses: [IPAddress]) async -> [IPAddress: HTTPCheck.Result]
    {
        guard let stage = target.lastStage else { return [:] }
        let limit = self.rest
        return await withTaskGroup(of: (IPAddress, HTTPCheck.Result).self) { group in
            for address in addresses {
                let question = HTTPCheck.Request(url: target.url, address: address, lastStage: stage, limit: limit)
                group.addTask { (address, await self.diagnostics.web.check(question)) }
            }
            var answers: [IPAddress: HTTPCheck.Result] = [:]
            for await (address, answer) in group { answers[address] = answer }
            return answers
        }
    }

    /// What the check URLs say over a family.
    func internet(_ family: AddressFamily) async -> [InternetObservation] {
        let checker = ConnectivityChecker(
            urls: self.diagnostics.policy.urls, web: self.diagnostics.web, limit: self.rest)
        return await checker.check(family) { await self.resolve($0) }
    }
}

extension Verdict {
    /// True if a packet would be sent, or if the kernel cannot be read.
    fileprivate var isUsable: Bool { self.level >= .routed || self.level == .unknown }
}

extension [IPAddress] {
    fileprivate var uniqued: [IPAddress] { self.reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}

extension IPAddress {
    /// The same address with the zone that a link-local IPv6 one needs.
    fileprivate func onLink(_ index: UInt32) -> IPAddress {
        guard self.family == .ipv6, self.isLinkLocal, self.zone == 0 else { return self }
        return IPAddress(octets: self.octets, zone: index) ?? self
    }
}
