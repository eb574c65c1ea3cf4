public import TidegateCore
internal import TidegateNetwork

/// Climbs the ladder on demand: to explain a target, or to test one rung.
///
/// It reads the kernel through its monitor and sends a handful of packets: a byte to the gateway, a question to each
/// resolver, one look at the target. It changes nothing and keeps nothing.
public final class PathDiagnostics: Sendable {
    let monitor: ReachabilityMonitor
    let resolver: any NameResolver
    let web: any HTTPChecker
    let policy: InternetCheckPolicy
    let time: any TimeSource
    let tools: LadderTools

    /// How long one rung is tried when a condition asks for it.
    static let rungLimit = Duration.seconds(3)

    /// A climber by a monitor's view.
    ///
    /// - Parameter internetCheck: The internet rung is climbed where this has URLs, enabled or not.
    package convenience init(
        monitor: ReachabilityMonitor, resolver: any NameResolver, web: any HTTPChecker,
        internetCheck: InternetCheckPolicy = .off, time: any TimeSource
    ) {
        self.init(
            monitor: monitor, resolver: resolver, web: web, internetCheck: internetCheck, time: time,
            tools: LadderTools(time: time))
    }

    /// A climber with tools of a test's.
    package init(
        monitor: ReachabilityMonitor, resolver: any NameResolver, web: any HTTPChecker,
        internetCheck: InternetCheckPolicy, time: any TimeSource, tools: LadderTools
    ) {
        self.monitor = monitor
        self.resolver = resolver
        self.web = web
        self.policy = internetCheck
        self.time = time
        self.tools = tools
    }

    /// Climbs to a target over each family at once, and says where it ends and why.
    ///
    /// - Parameter limit: One deadline for everything; what is not known by then stays unknown.
    public func explain(
        _ target: ExplainTarget, families: [AddressFamily] = AddressFamily.allCases,
        within limit: Duration = .seconds(10)
    ) async -> Explanation {
        let own = target.target.address.map { [$0.family] } ?? families
        let climb = PathDiagnosis(self, within: limit)
        return ExplanationComposer.compose(await climb.findings(target, own))
    }

    /// Whether the gateway of a family's default path is there; no packet is sent to one that has just been heard.
    public func gateway(_ family: AddressFamily) async -> RungReport {
        let climb = PathDiagnosis(self, within: PathDiagnostics.rungLimit + .seconds(1))
        guard let way = await climb.defaultWay(family, watching: true) else {
            return LadderDescriptions.notClimbed(.gateway)
        }
        guard way.verdict.level >= .routed, let path = way.verdict.path else {
            let words = way.verdict.reason.map { VerdictDescriptions.phrase($0) } ?? "no route"
            return RungReport(rung: .gateway, status: .unknown, evidence: ["there is no default path: \(words)"])
        }
        let quick = GatewayRung.judge(path, way.gateway, passive: way.passive)
        let isFresh = way.gateway.neighbour?.state == .reachable || quick.status == .notApplicable
        guard !isFresh, way.passive == nil else { return quick }
        let findings = await climb.poked(way)
        return GatewayRung.judge(path, findings, passive: way.passive)
    }

    /// Whether some resolver answers; with a family, one whose own address is of that family.
    public func dns(_ family: AddressFamily? = nil) async -> RungReport {
        let climb = PathDiagnosis(self, within: PathDiagnostics.rungLimit + .seconds(1))
        let servers = self.tools.settings().nameservers.filter { family == nil || $0.family == family }
        guard !servers.isEmpty else {
            return RungReport(rung: .dns, status: .notApplicable, evidence: ["no resolver has such an address"])
        }
        var findings = await climb.routes(to: servers)
        findings = await climb.askControl(findings, within: PathDiagnostics.rungLimit)
        return DNSRung.judge(resolvers: findings)
    }

    /// Whether the internet answers over a family; unknown where no check URL is configured.
    public func internet(_ family: AddressFamily) async -> RungReport {
        guard !self.policy.urls.isEmpty else { return InternetRung.judge(nil) }
        let climb = PathDiagnosis(self, within: PathDiagnostics.rungLimit * 2)
        guard let way = await climb.defaultWay(family, watching: false) else {
            return LadderDescriptions.notClimbed(.internet)
        }
        if way.passive?.internet != nil { return InternetRung.judge(nil, passive: way.passive) }
        return InternetRung.judge(await climb.internet(family))
    }

    /// Whether some address of a host answers as far as `check` asks; over one family only, where one is given.
    public func host(
        _ target: Target, _ check: WaitCondition.HostCheck, family: AddressFamily? = nil,
        within limit: Duration = .seconds(5)
    ) async -> HostCheckResult {
        let climb = PathDiagnosis(self, within: limit)
        switch await climb.resolve(target) {
        case .success(let addresses)?:
            let own = addresses.filter { family == nil || $0.family == family }
            guard !own.isEmpty else { return .failed(.nameNotFound) }
            return await climb.check(own, of: target, check)
        case .failure(let failure)?: return .failed(failure.reason)
        case nil: return .failed(.resolverTimeout)
        }
    }
}
