internal import TidegateCore
internal import TidegateNetwork

// What a climb finds out about names and those who resolve them.
extension PathDiagnosis {
    // A name that exists as long as there is an internet.
    private static let controlName = "a.root-servers.net"

    /// The addresses of a target; nil where the time ran out.
    func resolve(_ target: Target) async -> Result<[IPAddress], ResolveFailure>? {
        if let address = target.address { return .success([address]) }
        return await self.resolve(target.host)
    }

    func resolve(_ name: String) async -> Result<[IPAddress], ResolveFailure>? {
        let limit = self.rest
        return await withCheckedContinuation { waiter in
            let first = FirstAnswer<Result<[IPAddress], ResolveFailure>?>(waiter)
            self.climber.resolver.resolve(name) { first.give($0) }
            _ = self.climber.monitor.remind(after: limit) { first.give(nil) }
        }
    }

    // Half of the time belongs to what comes after the name.
    private var shareForNames: Duration { self.rest / 2 }

    func names(_ name: String, _ families: [AddressFamily]) async -> NameFindings {
        let settings = self.climber.tools.settings()
        var findings = NameFindings(name: name)
        findings.hasStub = settings.hasStub
        let names = PathDiagnosis(self.climber, within: self.shareForNames)
        async let system = names.resolve(name)
        async let asked = names.ask(
            settings.candidates(for: name).first ?? name, await names.routes(to: settings.nameservers),
            families.map { DNSQuestion.RecordType($0) })
        findings.servers = await asked
        findings.system = await system
        let saysNo = findings.servers.contains { $0.answers.values.contains { $0 == .nameNotFound } }
        if findings.addresses.isEmpty, saysNo {
            findings.servers = await self.askControl(findings.servers, within: self.shareForNames)
        }
        return findings
    }

    /// The resolvers with the kernel's verdicts on the way to them; no packet is sent for it.
    func routes(to servers: [IPAddress]) async -> [ResolverFindings] {
        _ = await self.climber.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        let survey = await self.climber.monitor.survey(RouteQuery(questions: servers.map(self.question)))
        return servers.map { ResolverFindings(server: $0, verdict: survey.ways[$0]?.verdict ?? .unknown) }
    }

    private func ask(
        _ name: String, _ servers: [ResolverFindings], _ types: [DNSQuestion.RecordType]
    ) async -> [ResolverFindings] {
        let limit = min(.seconds(3), self.rest)
        return await self.each(servers) { server in
            var server = server
            for type in types {
                // Who does not answer is not asked again.
                if let outcome = server.answers.values.first, !outcome.isAnswer {
                    server.answers[type] = outcome
                } else {
                    server.answers[type] = await self.climber.tools.ask(name, type, server.server, within: limit)
                }
            }
            return server
        }
    }

    /// Asks the resolvers that have a route about a name that surely exists.
    func askControl(_ servers: [ResolverFindings], within limit: Duration) async -> [ResolverFindings] {
        await self.each(servers) { server in
            var server = server
            server.control = await self.climber.tools.ask(PathDiagnosis.controlName, .a, server.server, within: limit)
            return server
        }
    }

    private func each(
        _ servers: [ResolverFindings], _ body: @escaping @Sendable (ResolverFindings) async -> ResolverFindings
    ) async -> [ResolverFindings] {
        await withTaskGroup(of: (Int, ResolverFindings).self) { group in
            for (position, server) in servers.enumerated() {
                let hasRoute = server.verdict.level >= .routed || server.verdict.level == .unknown
                group.addTask { (position, hasRoute ? await body(server) : server) }
            }
            var found: [(Int, ResolverFindings)] = []
            for await entry in group { found.append(entry) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
