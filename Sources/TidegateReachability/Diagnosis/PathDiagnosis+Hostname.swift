internal import TidegateCore
internal import TidegateNetwork

// What a diagnosis finds out about names and resolvers.
extension PathDiagnosis {
    // A name that exists as long as there is an internet.
    private static let controlName = "a.root-servers.net"

    /// The addresses of a target; nil if the time ran out.
    func resolve(_ target: Target) async -> Result<[IPAddress], ResolveFailure>? {
        if let address = target.address { return .success([address]) }
        return await self.resolve(target.host)
    }

    func resolve(_ name: String) async -> Result<[IPAddress], ResolveFailure>? {
        let limit = self.rest
        return await withCheckedContinuation { waiter in
            let continuation = OneShotContinuation<Result<[IPAddress], ResolveFailure>?>(waiter)
            self.diagnostics.resolver.resolve(name) { continuation.resume($0) }
            _ = self.diagnostics.monitor.call(after: limit) { continuation.resume(nil) }
        }
    }

    // Half of the time is left for what follows the name.
    private var shareForNames: Duration { self.rest / 2 }

    func names(_ name: String, _ families: [AddressFamily]) async -> NameFindings {
        let settings = self.diagnostics.dependencies.settings()
        var findings = NameFindings(name: name)
        findings.hasStub = settings.hasStub
        let names = PathDiagnosis(self.diagnostics, within: self.shareForNames)
        async let system = names.resolve(name)
        async let answered = names.query(
            settings.candidates(for: name).first ?? name, await names.routes(to: settings.nameservers),
            families.map { DNSQuestion.RecordType($0) })
        findings.servers = await answered
        findings.system = await system
        let deniesName = findings.servers.contains { $0.answers.values.contains { $0 == .nameNotFound } }
        if findings.addresses.isEmpty, deniesName {
            findings.servers = await self.queryControlName(findings.servers, within: self.shareForNames)
        }
        return findings
    }

    /// The resolvers with the kernel's verdicts on the paths to them; no packet is sent.
    func routes(to servers: [IPAddress]) async -> [ResolverFindings] {
        _ = await self.diagnostics.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        let report = await self.diagnostics.monitor.routeReport(RouteQuery(questions: servers.map(self.question)))
        return servers.map { ResolverFindings(server: $0, verdict: report.routes[$0]?.verdict ?? .unknown) }
    }

    private func query(
        _ name: String, _ servers: [ResolverFindings], _ types: [DNSQuestion.RecordType]
    ) async -> [ResolverFindings] {
        let limit = min(.seconds(3), self.rest)
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
