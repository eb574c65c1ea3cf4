package import TidegateCore
internal import TidegateNetwork

/// Checks the ladder on demand: to diagnose the path to a target, or to check one rung.
///
/// It reads the kernel through its monitor and sends a few packets: a byte to the gateway, a query to each resolver,
/// one request to the target. It changes nothing, and keeps only which gateways answered in an outage.
package final class PathDiagnostics: Sendable {
    let monitor: ReachabilityMonitor
    let resolver: any NameResolver
    let web: any HTTPChecker
    let policy: InternetCheckPolicy
    let time: any TimeSource
    let dependencies: Dependencies
    let gateways = GatewayMemory()

    /// The limit for one rung that is checked by itself.
    static let rungLimit = Duration.seconds(3)

    /// Diagnostics whose packets are sent as a test wants.
    package init(
        monitor: ReachabilityMonitor, resolver: any NameResolver, web: any HTTPChecker,
        internetCheck: InternetCheckPolicy, time: any TimeSource, dependencies: Dependencies
    ) {
        self.monitor = monitor
        self.resolver = resolver
        self.web = web
        self.policy = internetCheck
        self.time = time
        self.dependencies = dependencies
    }

    /// Diagnoses the path to a target over each family at once: where it fails, and why.
    ///
    /// - Parameters:
    ///   - limit: The deadline for everything; what is not known by then stays unknown.
    ///   - walksToInternet: Whether packets with limited hops are sent towards a public address, too.
    ///   - progress: Called with what is known so far, whenever that is more.
    package func diagnose(
        _ target: ExplainTarget, families: [AddressFamily] = AddressFamily.allCases,
        within limit: Duration = .seconds(10), walksToInternet: Bool = true,
        progress: (@Sendable (Explanation) -> Void)? = nil
    ) async -> Explanation {
        let own = target.isInternet ? families : target.target.address.map { [$0.family] } ?? families
        let findings = LadderFindings(target: target, families: own)
        return ExplanationComposer.compose(
            await self.complete(findings, walksToInternet: walksToInternet, within: limit, progress))
    }

    private func complete(
        _ findings: LadderFindings, walksToInternet: Bool, within limit: Duration,
        _ progress: (@Sendable (Explanation) -> Void)? = nil
    ) async -> LadderFindings {
        let found = DiagnosisProgress(findings, changed: progress)
        var diagnosis = PathDiagnosis(self, within: limit, progress: found)
        diagnosis.walksToInternet = walksToInternet
        await diagnosis.findAll(findings.target, findings.families)
        self.remember(found.findings)
        return found.findings
    }

    /// How long ago the gateway of a path answered in the outage that lasts; nil if it did not.
    func answeredAgo(_ path: PathFindings) -> Duration? {
        GatewayMemory.Place(path.verdict.path).flatMap { self.gateways.answeredAgo($0, at: self.time.monotonic()) }
    }

    /// What other traffic shows.
    var traffic: TrafficEvidence { TrafficEvidence(diagnostics: self) }

    private func remember(_ findings: LadderFindings) {
        for path in findings.paths.values {
            guard let gateway = GatewayMemory.Place(path.verdict.path) else { continue }
            let witnesses = CauseFinder(findings: findings, path: path).witnesses
            self.gateways.record(gateway, path.gateway, witnesses, at: self.time.monotonic())
        }
    }

    /// Diagnoses the internet as a whole, and keeps what it found as evidence about silence elsewhere.
    ///
    /// - Parameter walksToInternet: Whether packets with limited hops are sent towards a public address.
    func diagnoseHost(walksToInternet: Bool, within limit: Duration) async -> HostFindings {
        let findings = LadderFindings(target: .internet, families: AddressFamily.allCases)
        return HostFindings(await self.complete(findings, walksToInternet: walksToInternet, within: limit))
    }

    /// Whether the gateway of a family's default path answers; no packet is sent if it has just been reachable.
    package func gateway(_ family: AddressFamily) async -> RungReport {
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.rungLimit + .seconds(1))
        guard let findings = await diagnosis.defaultPath(family, watching: true) else {
            return LadderDescriptions.notChecked(.gateway)
        }
        guard findings.verdict.level >= .routed, let path = findings.verdict.path else {
            let text = findings.verdict.reason.map { $0.description } ?? "no route"
            return RungReport(rung: .gateway, status: .unknown, evidence: ["there is no default path: \(text)"])
        }
        let quick = GatewayRung.report(path, findings.gateway, passive: findings.passive)
        let isFresh = findings.gateway.neighbour?.state == .reachable || quick.status == .notApplicable
        guard !isFresh, findings.passive == nil else { return quick }
        return GatewayRung.report(
            path, await diagnosis.probed(findings, since: self.time.monotonic()), passive: findings.passive)
    }

    /// Whether a resolver answers; with a family, one whose own address is of that family.
    package func dns(_ family: AddressFamily? = nil) async -> RungReport {
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.rungLimit + .seconds(1))
        let servers = self.dependencies.settings().nameservers.filter { family == nil || $0.family == family }
        guard !servers.isEmpty else {
            return RungReport(rung: .dns, status: .notApplicable, evidence: ["no resolver has such an address"])
        }
        let resolvers = await diagnosis.routes(to: servers)
        let findings = await diagnosis.queryControlName(resolvers, within: PathDiagnostics.rungLimit)
        return DNSRung.report(resolvers: findings)
    }

    /// Whether the internet answers over a family; unknown if no check URL is configured.
    package func internet(_ family: AddressFamily) async -> RungReport {
        guard !self.policy.urls.isEmpty else { return InternetRung.report(nil) }
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.rungLimit * 2)
        guard let findings = await diagnosis.defaultPath(family, watching: false) else {
            return LadderDescriptions.notChecked(.internet)
        }
        if findings.passive?.internet != nil { return InternetRung.report(nil, passive: findings.passive) }
        return InternetRung.report(await diagnosis.internet(family))
    }
}
