internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

// Findings about names and resolvers.
extension PathDiagnosis {
    // A name that always exists.
    static let controlName = "a.root-servers.net"

    /// The addresses of a target; nil if time runs out.
    func resolve(_ target: Target, within limit: Duration? = nil) async -> Result<[IPAddress], ResolveFailure>? {
        if let address = target.address { return .success([address]) }
        return await self.resolve(target.host, within: limit)
    }

    func resolve(_ name: String, within limit: Duration? = nil) async -> Result<[IPAddress], ResolveFailure>? {
        let limit = min(limit ?? self.rest, self.rest)
        return await Promise.value(orAfter: { _ = self.diagnostics.monitor.call(after: limit, $0) }) {
            self.diagnostics.resolver.resolve(name, completion: $0)
        }
    }

    /// The answers of the resolvers and the system about a name; walks to silent resolvers run at the same time.
    func names(_ target: Target, _ families: [AddressFamily]) async -> NameFindings {
        let (name, settings) = (target.host, await self.diagnostics.settings(within: self.rest))
        var findings = NameFindings(name: target.shownHost, namesNoServer: settings.namesNoServer)
        findings.isUnread = settings.isUnread
        findings.hostsFile = self.diagnostics.dependencies.hosts().addresses[name.lowercased()] ?? []
        let system = Promise<Result<[IPAddress], ResolveFailure>>()
        self.diagnostics.resolver.resolve(name) { system.fulfil($0) }
        let routed = await self.routes(to: settings.nameservers)
        let candidates = settings.candidates(for: name)
        let start = self.now
        let types = families.map { DNSQuestion.RecordType($0) }
        findings = await self.asked(findings, routed, families) { await self.query(candidates, $0, types) }
        findings.searched = findings.servers.compactMap { candidates.firstIndex(of: $0.asked) }.max() ?? 0
        // The system queries the same servers in order, so it rarely adds anything after their answers or silence.
        let hasAnswer = findings.servers.contains(where: \.hasAnswered)
        let isLate = self.now - start >= Thresholds.slowName
        let patience: Duration =
            hasAnswer || settings.nameservers.isEmpty
            ? .milliseconds(isLate ? 200 : 500) : .milliseconds(isLate ? 50 : 200)
        findings.system = await system.value { resume in
            _ = self.diagnostics.monitor.call(after: min(patience, self.rest), resume)
        }
        let deniesName = findings.servers.contains { $0.answers.values.contains { $0 == .nameNotFound } }
        // Before its login a captive portal gives every name its own address.
        let gateways = self.diagnostics.monitor.status.families.compactMap(\.verdict.path?.gateway)
        let isGateway = findings.hostsFile.isEmpty && findings.addresses.contains(where: gateways.contains)
        let limit = self.limitForNames
        // A resolver of this host that does not answer for one name may ask another server about it.
        if findings.isOwnResolverSilent {
            findings.servers = await self.queryControlName(findings.servers, within: min(limit, .milliseconds(500)))
            findings.upstreams = await self.routes(to: settings.upstreams).concurrentMap { server in
                guard server.verdict.isUsable else { return server }
                return await self.query(candidates, await self.queryControlName(server, within: limit), types)
            }
        } else if findings.addresses.isEmpty, deniesName {
            findings.servers = await findings.servers.concurrentMap { server in
                server.hasAnswered ? await self.queryControlName(server, within: limit) : server
            }
        } else if isGateway {
            findings.servers = await findings.servers.concurrentMap { server in
                var server = server
                if server.hasAnswered { server.unrelated = await self.newName(of: server, within: limit) }
                return server
            }
        }
        return findings
    }

    /// The resolvers' answers about a name that exists; walks to silent ones run at the same time.
    func resolvers(_ families: [AddressFamily]) async -> NameFindings {
        let settings = await self.diagnostics.settings(within: self.rest)
        var findings = NameFindings(name: PathDiagnosis.controlName, namesNoServer: settings.namesNoServer)
        findings.isUnread = settings.isUnread
        let limit = self.limitForNames
        findings = await self.asked(
            findings, await self.routes(to: settings.nameservers), families, besideTargets: true
        ) { await self.queryNewName(await self.queryControlName($0, within: limit), within: limit) }
        if findings.isOwnResolverSilent {
            findings.upstreams = await self.queryControlName(await self.routes(to: settings.upstreams), within: limit)
        }
        return findings
    }

    // A short diagnosis reserves part of its time for the steps after the name.
    private var limitForNames: Duration { min(Thresholds.nameQuery, self.rest * 4 / 5) }

    /// Queries servers; while they stay silent, walks to the first one and to the internet, and probes the gateways.
    ///
    /// Silent servers get less time if another one answers, or if other findings explain the silence.
    private func asked(
        _ known: NameFindings, _ servers: [ResolverFindings], _ families: [AddressFamily], besideTargets: Bool = false,
        _ ask: @escaping @Sendable (ResolverFindings) async -> ResolverFindings
    ) async -> NameFindings {
        let start = self.now
        return await withTaskGroup(of: NamePart.self) { group in
            var found = known
            found.servers = servers
            let usable = servers.enumerated().filter { $1.verdict.isUsable }
            for (position, server) in usable { group.addTask { NamePart(server: (position, await ask(server))) } }
            group.addTask { NamePart(walks: await self.walked(to: servers)) }
            for family in families { group.addTask { await self.wayOut(family, since: start) } }
            if besideTargets { group.addTask { await self.targets() } }
            group.addTask { NamePart(isTime: await self.pause(for: Thresholds.nameQueryBesideOthers)) }
            var areTargetsAsked = !besideTargets
            var (silent, isTime, left) = (usable.count, false, usable.count + families.count + (besideTargets ? 2 : 1))
            for await part in group {
                found.walks.merge(part.walks) { $1 }
                found.targets.merge(part.targets) { $1 }
                found.gateways.merge(part.gateways) { $1 }
                if let (position, server) = part.server { (found.servers[position], silent) = (server, silent - 1) }
                isTime = isTime || part.isTime
                if !part.isTime { left -= 1 }
                areTargetsAsked = areTargetsAsked || part.areTargets
                // A forwarder may answer what it has kept, so that a target has to answer as well.
                let isBacked = areTargetsAsked && !found.areTargetsCutOff
                let hasAnswer = found.servers.contains {
                    $0.hasAnswered && !$0.deniesControl && (isBacked || !$0.isForwarder)
                }
                let isEnough = silent == 0 ? hasAnswer : isTime && (hasAnswer || found.isSilenceExplained)
                if isEnough || left == 0 { group.cancelAll() }
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

    private func targets() async -> NamePart {
        guard await self.pause(for: Thresholds.patience) else { return NamePart() }
        let limit = Thresholds.certainty - Thresholds.patience
        return NamePart(targets: await self.diagnostics.targets(within: limit), areTargets: true)
    }

    private func wayOut(_ family: AddressFamily, since start: MonotonicTime) async -> NamePart {
        guard await self.pause(for: Thresholds.patience),
            let path = await self.defaultPath(family, watching: false), path.verdict.level >= .routed,
            let gateway = path.verdict.path?.gateway
        else { return NamePart() }
        let sentinel = path.subject.address
        async let probed = self.probed(path, since: start)
        async let walk = self.walksToInternet ? self.walk(to: sentinel, nil) : nil
        let (findings, walked) = (await probed, await walk)
        // A cancelled query proves nothing.
        guard !Task.isCancelled else { return NamePart() }
        return NamePart(walks: walked.map { [sentinel: $0] } ?? [:], gateways: [gateway: findings])
    }

    /// The resolvers with the kernel's verdicts on the paths to them; no packet is sent.
    func routes(to servers: [IPAddress]) async -> [ResolverFindings] {
        _ = await self.diagnostics.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        let report = await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: servers.map(self.diagnostics.dependencies.resolverQuestion)))
        return servers.map { ResolverFindings(server: $0, verdict: report.routes[$0]?.verdict ?? .unknown) }
    }

    // The answers about the first candidate that ends a search, as for programs (resolv.conf(5)).
    private func query(
        _ candidates: [String], _ server: ResolverFindings, _ types: [DNSQuestion.RecordType]
    ) async -> ResolverFindings {
        var found = [await self.query(candidates[0], server, types)]
        if candidates.count > 1, found[0].isPassedOver {
            found += await candidates.dropFirst().map(\.self).concurrentMap { await self.query($0, server, types) }
        }
        return found.first { !$0.isPassedOver }
            ?? found.first { $0.answers.values.contains { $0 != .nameNotFound } } ?? found[0]
    }

    private func query(
        _ name: String, _ server: ResolverFindings, _ types: [DNSQuestion.RecordType]
    ) async -> ResolverFindings {
        let (start, limit, address) = (self.now, self.limitForNames, server.server)
        return await withTaskGroup(of: (DNSQuestion.RecordType, DNSOutcome)?.self) { group in
            for type in types {
                group.addTask {
                    (type, await self.diagnostics.dependencies.query(name, type, address, within: limit))
                }
            }
            group.addTask {
                _ = await self.pause(for: Thresholds.nameQueryBesideOthers)
                return nil
            }
            var (server, isTime) = (server, false)
            server.asked = name
            for await answer in group where server.answers.count < types.count {
                if let (type, outcome) = answer {
                    // A refusal applies to every record type, and hosts limit their ICMP errors.
                    let isOfAll = outcome.isRefusal && !server.hasAnswered
                    for type in isOfAll ? types : [type] { server.answers[type] = outcome }
                    server.record(outcome, sent: start, at: self.now)
                }
                isTime = isTime || answer == nil
                // Addresses of one family are enough to continue.
                if server.answers.count == types.count || isTime && !server.addresses.isEmpty { group.cancelAll() }
            }
            return server
        }
    }

    /// Queries the resolvers that have a route for a name known to exist.
    func queryControlName(_ servers: [ResolverFindings], within limit: Duration) async -> [ResolverFindings] {
        await servers.concurrentMap { $0.verdict.isUsable ? await self.queryControlName($0, within: limit) : $0 }
    }

    private func queryControlName(_ server: ResolverFindings, within limit: Duration) async -> ResolverFindings {
        let (address, start) = (server.server, self.now)
        var server = server
        let outcome = await self.diagnostics.dependencies.query(
            PathDiagnosis.controlName, .a, address, within: limit)
        server.control = outcome
        server.record(outcome, sent: start, at: self.now)
        return server
    }

    // The answer about a name that does not exist.
    private func newName(of server: ResolverFindings, within limit: Duration) async -> DNSOutcome {
        let label = "tidegate-\(String(UInt32.random(in: .min ... .max), radix: 36))"
        return await self.diagnostics.dependencies.query(
            label + PathDiagnosis.controlName.drop { $0 != "." }, .a, server.server, within: limit)
    }

    private func queryNewName(_ server: ResolverFindings, within limit: Duration) async -> ResolverFindings {
        // A forwarder answers known names though it reaches no other server, so a new one is asked for as well.
        guard server.isForwarder, case .answered? = server.control else { return server }
        let new = await self.newName(of: server, within: limit)
        // A cancelled query proves nothing.
        guard !Task.isCancelled, !new.isAnswer else { return server }
        var server = server
        (server.control, server.hasOnlyKept) = (new, true)
        return server
    }
}

// A finding about one server (by position), about one silent resolver, or about the way out over one family.
private struct NamePart {
    var server: (position: Int, findings: ResolverFindings)?
    var walks: [IPAddress: HopWalkResult] = [:]
    var gateways: [IPAddress: GatewayFindings] = [:]
    var targets: [IPAddress: HTTPCheck.Result] = [:]
    var areTargets = false
    var isTime = false
}
