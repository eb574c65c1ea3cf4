internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

// What a diagnosis finds out about names and resolvers.
extension PathDiagnosis {
    // A name that exists as long as there is an internet.
    static let controlName = "a.root-servers.net"

    /// The addresses of a target; nil if the time ran out.
    func resolve(_ target: Target, within limit: Duration? = nil) async -> Result<[IPAddress], ResolveFailure>? {
        if let address = target.address { return .success([address]) }
        return await self.resolve(target.host, within: limit)
    }

    func resolve(_ name: String, within limit: Duration? = nil) async -> Result<[IPAddress], ResolveFailure>? {
        let limit = min(limit ?? self.rest, self.rest)
        let answer = Promise<Result<[IPAddress], ResolveFailure>>()
        self.diagnostics.resolver.resolve(name) { answer.fulfil($0) }
        return await answer.value { resume in _ = self.diagnostics.monitor.call(after: limit, resume) }
    }

    /// What the resolvers and the system answer about a name; whoever stays silent is walked to meanwhile.
    func names(_ target: Target, _ families: [AddressFamily]) async -> NameFindings {
        let (name, settings) = (target.host, self.diagnostics.dependencies.settings())
        var findings = NameFindings(
            name: target.shownHost, hasStub: settings.hasStub, namesNoServer: settings.namesNoServer)
        findings.hostsFile = self.diagnostics.dependencies.hosts().addresses[name.lowercased()] ?? []
        let system = Promise<(Result<[IPAddress], ResolveFailure>, end: MonotonicTime)>()
        let start = self.now
        self.diagnostics.resolver.resolve(name) { system.fulfil(($0, self.now)) }
        let routed = await self.routes(to: settings.nameservers)
        let first = settings.candidates(for: name).first ?? name
        findings = await self.asked(findings, routed, families) { servers in
            await self.query(first, servers, families.map { DNSQuestion.RecordType($0) })
        }
        // The system asks the same servers, in order: once they have spoken, or have not, it hardly knows more.
        let hasAnswer = findings.servers.contains { $0.outcomes.contains(where: \.isAnswer) }
        let patience: Duration = hasAnswer || settings.nameservers.isEmpty ? .milliseconds(500) : .milliseconds(200)
        let answer = await system.value { resume in
            _ = self.diagnostics.monitor.call(after: min(patience, self.rest), resume)
        }
        (findings.system, findings.duration) = (answer?.0, answer.map { $0.end - start })
        let deniesName = findings.servers.contains { $0.answers.values.contains { $0 == .nameNotFound } }
        if findings.addresses.isEmpty, deniesName {
            findings.servers = await self.queryControlName(findings.servers, within: self.shareForNames)
        }
        return findings
    }

    /// What the resolvers answer about a name that exists; whoever stays silent is walked to meanwhile.
    func resolvers(_ families: [AddressFamily]) async -> NameFindings {
        let settings = self.diagnostics.dependencies.settings()
        let findings = NameFindings(
            name: PathDiagnosis.controlName, hasStub: settings.hasStub, namesNoServer: settings.namesNoServer)
        let limit = self.shareForNames
        return await self.asked(findings, await self.routes(to: settings.nameservers), families) { servers in
            await self.queryControlName(servers, within: limit)
        }
    }

    // Slow resolvers answer within a second; the rest of the time is for what follows the name.
    private var shareForNames: Duration { min(max(.seconds(1), min(.seconds(3), self.rest / 6)), self.rest) }

    // What is found out about the servers, about one silent resolver, or about the way out over one family.
    private typealias Part = (
        servers: [ResolverFindings]?, walks: [IPAddress: HopWalkResult], gateways: [IPAddress: GatewayFindings]
    )

    /// Asks servers; while they stay silent, walks to the first and to the internet, and probes the gateways.
    private func asked(
        _ known: NameFindings, _ servers: [ResolverFindings], _ families: [AddressFamily],
        _ ask: @escaping @Sendable ([ResolverFindings]) async -> [ResolverFindings]
    ) async -> NameFindings {
        let start = self.now
        return await withTaskGroup(of: Part.self) { group in
            group.addTask { (await ask(servers), [:], [:]) }
            group.addTask { (nil, await self.walked(to: servers), [:]) }
            for family in families { group.addTask { await self.wayOut(family, since: start) } }
            var found = known
            found.servers = servers
            for await part in group {
                found.walks.merge(part.walks) { $1 }
                found.gateways.merge(part.gateways) { $1 }
                guard let answered = part.servers else { continue }
                found.servers = answered
                if answered.contains(where: { $0.outcomes.contains(where: \.isAnswer) }) { group.cancelAll() }
            }
            return found
        }
    }

    private func walked(to servers: [ResolverFindings]) async -> [IPAddress: HopWalkResult] {
        guard await self.pause(for: Thresholds.patience),
            let server = servers.first(where: { $0.verdict.level >= .routed && !$0.server.isLoopback })?.server,
            let walk = await self.walk(to: server, self.diagnostics.dependencies.dnsPort)
        else { return [:] }
        return [server: walk]
    }

    private func wayOut(_ family: AddressFamily, since start: MonotonicTime) async -> Part {
        guard await self.pause(for: Thresholds.patience),
            let path = await self.defaultPath(family, watching: false), path.verdict.level >= .routed,
            let gateway = path.verdict.path?.gateway
        else { return (nil, [:], [:]) }
        let sentinel = path.subject.address
        async let probed = self.probed(path, since: start)
        async let walk = self.walksToInternet ? self.walk(to: sentinel, nil) : nil
        let (findings, walked) = (await probed, await walk)
        // An end in the middle says nothing.
        guard !Task.isCancelled else { return (nil, [:], [:]) }
        return (nil, walked.map { [sentinel: $0] } ?? [:], [gateway: findings])
    }

    /// The resolvers with the kernel's verdicts on the paths to them; no packet is sent.
    func routes(to servers: [IPAddress]) async -> [ResolverFindings] {
        _ = await self.diagnostics.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        let report = await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: servers.map(self.diagnostics.dependencies.resolverQuestion)))
        return servers.map { ResolverFindings(server: $0, verdict: report.routes[$0]?.verdict ?? .unknown) }
    }

    private func query(
        _ name: String, _ servers: [ResolverFindings], _ types: [DNSQuestion.RecordType]
    ) async -> [ResolverFindings] {
        let limit = self.shareForNames
        return await self.each(servers) { server in
            var server = server
            for type in types {
                // A resolver that does not answer is not queried again.
                if let outcome = server.answers.values.first, !outcome.isAnswer {
                    server.answers[type] = outcome
                } else {
                    server.answers[type] = await self.diagnostics.dependencies.query(
                        name, type, server.server, within: limit)
                }
            }
            return server
        }
    }

    /// Queries the resolvers that have a route for a name that is known to exist.
    func queryControlName(_ servers: [ResolverFindings], within limit: Duration) async -> [ResolverFindings] {
        await self.each(servers) { server in
            var server = server
            server.control = await self.diagnostics.dependencies.query(
                PathDiagnosis.controlName, .a, server.server, within: limit)
            return server
        }
    }

    private func each(
        _ servers: [ResolverFindings], _ body: @escaping @Sendable (ResolverFindings) async -> ResolverFindings
    ) async -> [ResolverFindings] {
        await servers.concurrentMap { $0.verdict.isUsable ? await body($0) : $0 }
    }
}
