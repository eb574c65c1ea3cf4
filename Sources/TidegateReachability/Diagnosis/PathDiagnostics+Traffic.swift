internal import TidegateCore

// What other traffic over the same next hop proves about a path.
extension PathDiagnostics {
    // The number of addresses in one batch of lookups.
    private static let batch = 16
    // The maximum number of lookups if no address shares the next hop.
    private static let mostRemotes = 128

    /// Adds what requests of this program proved about the same next hop at `start` or later.
    ///
    /// An answer from a host on the link proves nothing about the gateway.
    func checkingRequests(_ findings: PathFindings, since start: MonotonicTime? = nil) async -> PathFindings {
        var checked = findings
        let now = self.time.monotonic()
        checked.passive = self.monitor.evidence.fresh(from: findings.verdict.path?.source, at: now)
        guard let passive = checked.passive else { return checked }
        let isOld = start.map { now - passive.answered < $0 } ?? false
        let sharing = isOld ? [] : await self.sharing(findings, among: [passive.remote])
        if sharing.isEmpty { checked.passive = nil }
        return checked
    }

    /// What connections of other programs have proved since `start`, when the path was first used; nil if they are not
    /// observed.
    func connections(_ findings: PathFindings, since start: MonotonicTime) async -> ConnectionFindings? {
        guard let observation = self.dependencies.connections else { return nil }
        let report = await observation.report()
        let remotes = PathRemotes(
            report, for: findings.subject.address, within: self.time.monotonic() - start)
        let answering = await self.first(findings, among: remotes.answering)
        var found = ConnectionFindings()
        (found.answering, found.remote) = (answering.count, answering.first)
        if answering.isEmpty {
            let silent = await self.first(findings, among: remotes.silent)
            found.isAnySilent = !silent.isEmpty
        }
        found.isEndAnswering = remotes.isSubjectAnswering
        if case .target = findings.subject {
            found.toTarget = remotes.opened(or: findings.addresses, port: findings.port)
        }
        return found
    }

    /// Whether configured targets behind the default gateways still answer connections, if they answered their last
    /// checks or failed with the way out.
    ///
    /// If resolvers are silent, these targets may be the only parties beyond the gateway to contact.
    func targets(within limit: Duration) async -> [IPAddress: HTTPCheck.Result] {
        let status = self.monitor.status
        let gateways = status.families.compactMap(\.verdict.path?.gateway)
        let checked = status.targets.filter { $0.target.port != nil }
        let asked =
            checked.filter { status.checks[$0.target]?.isAnswered ?? false }
            + checked.filter { status.checks[$0.target]?.isWayOutFailing ?? false }
        let questions = gateways.flatMap { gateway in
            // Targets of one network may fail together for a reason of their own.
            var networks: Set<ArraySlice<UInt8>> = []
            return asked.compactMap { target in
                target.addresses.first { $0.verdict.path?.gateway == gateway }.map {
                    HTTPCheck.Request(
                        url: HTTPURL(scheme: .http, target: target.target), address: $0.address, lastStage: .connect,
                        limit: limit)
                }
            }.filter { networks.insert($0.address.network).inserted }.prefix(2)
        }
        let answers = await questions.concurrentMap { ($0.address, await self.web.check($0)) }
        return Dictionary(answers) { first, _ in first }
    }

    // The matching remotes of the first batch that has any; later batches would prove nothing more.
    private func first(_ findings: PathFindings, among addresses: [IPAddress]) async -> [IPAddress] {
        var rest = addresses.prefix(Self.mostRemotes)
        while !rest.isEmpty {
            let found = await self.sharing(findings, among: Array(rest.prefix(Self.batch)))
            guard found.isEmpty else { return found }
            rest = rest.dropFirst(Self.batch)
        }
        return []
    }

    // The addresses that the kernel would reach over the same next hop.
    private func sharing(_ findings: PathFindings, among addresses: [IPAddress]) async -> [IPAddress] {
        guard let own = findings.verdict.path, !addresses.isEmpty else { return [] }
        let context = self.monitor.lookupContext
        let report = await self.monitor.routeReport(
            RouteQuery(questions: addresses.map { context.question($0, port: nil) }))
        return addresses.filter { address in
            guard let path = report.routes[address]?.verdict.path else { return false }
            return path.gateway == own.gateway && path.interface == own.interface
        }
    }
}

extension IPAddress {
    /// The octets that addresses of one network have in common, as far as strangers can tell: /16, or /32 for IPv6.
    var network: ArraySlice<UInt8> { self.octets.prefix(self.family == .ipv4 ? 2 : 4) }
}
