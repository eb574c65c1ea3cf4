internal import Synchronization
internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// One diagnosis: collects the facts available before its deadline, without evaluating them.
struct PathDiagnosis: Sendable {
    let diagnostics: PathDiagnostics
    private let (began, deadline): (MonotonicTime, MonotonicTime)
    let progress: DiagnosisProgress?
    /// Whether to send packets with limited hops towards a public address.
    var walksToInternet = true

    // The maximum number of addresses per family tried in parallel; only the first one's path is explained.
    static let mostAddresses = 3

    /// Creates a diagnosis that reports its findings to `progress`, if given.
    init(_ diagnostics: PathDiagnostics, within limit: Duration, progress: DiagnosisProgress? = nil) {
        self.diagnostics = diagnostics
        self.progress = progress
        self.began = diagnostics.time.monotonic()
        self.deadline = self.began + limit
    }

    var rest: Duration { max(.milliseconds(1), self.deadline - self.diagnostics.time.monotonic()) }

    // MARK: Targets

    /// Collects the facts about a target.
    func findAll(_ target: ExplainTarget, _ families: [AddressFamily]) async {
        _ = await self.diagnostics.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        // With another link, answers may come back by that one.
        let ways = self.diagnostics.monitor.status.links.filter { link in
            link.isUsable && [.ethernet, .wifi, .cellular].contains(link.kind) && link.usableFamilies.contains(.ipv4)
        }
        let before = ways.count > 1 ? await self.diagnostics.own(of: ways[0].name) : nil
        let name = await self.names(target, families)
        let subjects = await self.subjects(target, name, families)
        let wanted = subjects.flatMap { [$0.subject.address] + $0.addresses.prefix(PathDiagnosis.mostAddresses) }
        let report = await self.report(Array(Set(wanted)), port: target.target.port, families)
        self.progress?.update { findings in
            findings.name = name
            findings.unavailableReason = report.unavailableReason
            findings.health = report.health
            (findings.links, findings.costlyLinks) = (report.links, report.costlyLinks)
            findings.wallTime = self.diagnostics.time.wall()
        }
        _ = await subjects.concurrentMap { subject in
            var path = await self.path(subject, report, target, name)
            if let before, path.subject.address.family == .ipv4 {
                path.misrouted = await self.diagnostics.own(of: ways[0].name)?.since(before).misroutedPackets ?? 0
            }
            self.progress?.update { $0.paths[path.subject.address.family] = path }
        }
    }

    private func names(_ target: ExplainTarget, _ families: [AddressFamily]) async -> NameFindings? {
        if target.isInternet { return await self.resolvers(families) }
        return target.target.address == nil ? await self.names(target.target, families) : nil
    }

    // The paths to the target; while its name is not resolved, the path to a resolver of the family or the internet.
    private func subjects(
        _ target: ExplainTarget, _ name: NameFindings?, _ families: [AddressFamily]
    ) async -> [PathFindings] {
        if target.isInternet {
            return families.compactMap { family in
                family.sentinels.first.map { PathFindings(subject: .sentinel($0)) }
            }
        }
        if let address = target.target.address {
            return [PathFindings(subject: .target(address), addresses: [address])]
        }
        let addresses = name?.addresses ?? []
        let servers =
            addresses.isEmpty ? self.diagnostics.dependencies.settings().finalServers.filter { !$0.isLoopback } : []
        let report = await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: servers.map(self.diagnostics.dependencies.resolverQuestion), families: families))
        return families.compactMap { family in
            let own = addresses.filter { $0.family == family }
            if let first = own.first { return PathFindings(subject: .target(first), addresses: own) }
            guard let sentinel = report.sentinels[family] ?? family.sentinels.first else { return nil }
            let isOut = report.routes[sentinel].map { $0.verdict.level >= .routed } ?? false
            let candidates = servers.filter { $0.family == family }
            let routed = candidates.first { (report.routes[$0]?.verdict.level ?? .none) >= .routed }
            // If the family has a default path, a missing route to the resolver is a failure of the resolver.
            let server = routed ?? (isOut ? nil : candidates.first)
            return PathFindings(subject: server.map { .resolver($0) } ?? .sentinel(sentinel))
        }
    }

    func report(
        _ addresses: [IPAddress], port: UInt16?, _ families: [AddressFamily] = []
    ) async -> RouteReport {
        let context = self.diagnostics.monitor.lookupContext
        return await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: addresses.map { context.question($0, port: port) }, families: families))
    }

    // MARK: One path

    private func path(
        _ wanted: PathFindings, _ report: RouteReport, _ target: ExplainTarget, _ name: NameFindings?
    ) async -> PathFindings {
        // An address without a route does not keep programs from using the others.
        let candidates = wanted.addresses.prefix(PathDiagnosis.mostAddresses)
        let usable = candidates.filter { report.routes[$0]?.verdict.isUsable ?? true }
        var path = PathFindings(usable.first.map { .target($0) } ?? wanted.subject, report)
        path.addresses = wanted.addresses
        for address in candidates where !usable.contains(address) && address != path.subject.address {
            path.unrouted[address] = report.routes[address]?.verdict
        }
        guard path.verdict.isUsable else { return path }
        path = await self.diagnostics.checkingRequests(path)
        path.port = target.target.port
        if case .resolver = path.subject { path.port = self.diagnostics.dependencies.dnsPort }
        path.walk = name?.walks[path.subject.address]
        path.sentinelWalk = path.sentinel.flatMap { name?.walks[$0] }
        let probed = path.provenGateway.flatMap { name?.gateways[$0] }
        if let probed { path.gateway = probed }
        // Resolvers that were just silent are unlikely to answer for the names of check URLs.
        let isSilent = name?.servers.allSatisfy { !$0.hasAnswered } ?? false
        let limit = max(Thresholds.nameQueryBesideOthers, (name?.delay ?? .zero) + .milliseconds(500))
        path = await self.asked(
            path, TargetRequests(self, target, at: usable), isProbed: probed != nil,
            resolvingLimit: isSilent ? .milliseconds(200) : limit)
        path.web.merge(name?.targets.filter { $0.key.family == path.subject.address.family } ?? [:]) { own, _ in own }
        // A success from before a silence may no longer be valid.
        if isSilent || path.isSilent { path = await self.diagnostics.checkingRequests(path, since: self.began) }
        guard let stage = target.lastStage, let best = WebRungs.furthest(usable, path.web, stage) else { return path }
        return best == path.subject.address ? path : self.moved(path, to: best, report)
    }

    // Moves the findings to another address of the target; those about the same gateway still hold.
    private func moved(_ path: PathFindings, to address: IPAddress, _ report: RouteReport) -> PathFindings {
        var other = PathFindings(.target(address), report)
        if other.verdict.path?.gateway == path.verdict.path?.gateway {
            (other.gateway, other.passive) = (path.gateway, path.passive)
        }
        (other.addresses, other.unrouted) = (path.addresses, path.unrouted)
        (other.internet, other.web, other.connections) = (path.internet, path.web, path.connections)
        return other
    }

    var now: MonotonicTime { self.diagnostics.time.monotonic() }

    /// The default path of a family; nil if the kernel cannot be read.
    func defaultPath(_ family: AddressFamily, watching: Bool) async -> PathFindings? {
        _ = await self.diagnostics.monitor.firstStatus(within: min(self.rest, .seconds(2)))
        let report = await self.diagnostics.monitor.routeReport(
            RouteQuery(questions: [], families: [family], watchesGateways: watching))
        guard let sentinel = report.sentinels[family] else { return nil }
        return await self.diagnostics.checkingRequests(PathFindings(.sentinel(sentinel), report))
    }

    // MARK: The internet

    /// The answers of the check URLs over a family; their names get up to `limit`, or the diagnosis's own deadline.
    func internet(_ family: AddressFamily, resolvingWithin limit: Duration? = nil) async -> [InternetObservation] {
        let checker = ConnectivityChecker(
            urls: self.diagnostics.policy.urls, web: self.diagnostics.web,
            limit: min(self.rest, max(.seconds(2), self.rest * 2 / 5)))
        return await checker.check(family) { await self.resolve($0, within: limit) }
    }
}

extension AddressFamily {
    /// Public addresses in networks of their own.
    var sentinels: [IPAddress] { ReachabilityConfiguration.defaultSentinels[self] ?? [] }
}

/// The findings of a diagnosis so far; its parts fill them in.
final class DiagnosisProgress: Sendable {
    private let state: Mutex<LadderFindings>
    private let changed: (@Sendable (Explanation) -> Void)?

    init(_ findings: LadderFindings, changed: (@Sendable (Explanation) -> Void)?) {
        self.state = Mutex(findings)
        self.changed = changed
    }

    var findings: LadderFindings { self.state.withLock { $0 } }

    /// Records another finding.
    func update(_ body: (inout LadderFindings) -> Void) {
        let findings = self.state.withLock { findings in
            body(&findings)
            return findings
        }
        self.changed?(ExplanationComposer.compose(findings))
    }
}
