internal import Synchronization
internal import TidegateAttribution
package import TidegateCore
internal import TidegateLoop
package import TidegateNetwork

/// Checks the ladder on demand: to diagnose the path to a target, or to check one rung.
///
/// It reads the kernel through its monitor and sends a few packets: one to four to the gateway, a query to each
/// resolver, one request to the target. A silence gets hop walks, and echoes over other links. It changes
/// nothing, and only remembers which gateways answered during an outage.
package final class PathDiagnostics: HostDiagnoser {
    let monitor: ReachabilityMonitor
    let resolver: any NameResolver
    let web: any HTTPChecker
    let policy: InternetCheckPolicy
    private let publicDiagnosis: PublicDiagnosis
    let time: any TimeSource
    let dependencies: Dependencies
    let memory = DiagnosisMemory()

    /// The limit for a single rung.
    static let rungLimit = Duration.seconds(3)

    /// Creates diagnostics with given dependencies, for tests.
    package init(
        monitor: ReachabilityMonitor, resolver: any NameResolver, web: any HTTPChecker,
        internetCheck: InternetCheckPolicy, publicDiagnosis: PublicDiagnosis = .off, time: any TimeSource,
        dependencies: Dependencies
    ) {
        self.monitor = monitor
        self.resolver = resolver
        self.web = web
        self.policy = internetCheck
        self.publicDiagnosis = publicDiagnosis
        self.time = time
        self.dependencies = dependencies
    }

    /// Diagnoses the path to a target over each family in parallel: where it fails, and why.
    ///
    /// - Parameters:
    ///   - limit: The deadline for everything; facts that are unknown by then stay unknown.
    ///   - walksToInternet: Whether to also send packets with limited hops towards a public address.
    ///   - progress: Called with the findings so far, whenever there are more.
    package func diagnose(
        _ target: ExplainTarget, families: [AddressFamily] = AddressFamily.allCases,
        within limit: Duration = .seconds(10), walksToInternet: Bool = true,
        progress: (@Sendable (Explanation) -> Void)? = nil
    ) async -> Explanation {
        ExplanationComposer.compose(
            await self.findings(
                target, families: families, within: limit, walksToInternet: walksToInternet, progress: progress))
    }

    /// Diagnoses the path to a target, and then measures every part of it for `time`.
    ///
    /// Without a time it measures only what takes longer than ``Thresholds/slowTarget``.
    package func explain(
        _ target: ExplainTarget, families: [AddressFamily], within limit: Duration, measuring time: Duration?,
        progress: @escaping @Sendable (Explanation) -> Void
    ) async -> Explanation {
        let found = await self.findings(target, families: families, within: limit, progress: progress)
        var explanation = ExplanationComposer.compose(found)
        guard [.works, .worksBut].contains(explanation.conclusion) else { return explanation }
        guard let path = QualityPath(found) else {
            if time != nil {
                explanation.findings.append("its path was not measured: a tunnel, a proxy or this host itself")
                explanation.conclusion = .worksBut
            }
            return explanation
        }
        guard time != nil || path.evidence.total >= Thresholds.slowTarget else { return explanation }
        let evidence = await QualityMeter(diagnostics: self, path: path).evidence(for: time)
        let quality = QualityTable.quality(of: evidence)
        explanation.quality = quality
        explanation.findings += quality.findings
        if quality.cause != nil || !quality.findings.isEmpty { explanation.conclusion = .worksBut }
        return explanation
    }

    /// What slows single connections of any program, by the remote's address; watches them for some seconds.
    package func slowConnections() async -> [IPAddress: SlowCause] {
        let time = Thresholds.rhythmTime + .seconds(1)
        let seen = await self.dependencies.flows(beside: "", every: .milliseconds(200), for: time)
        return QualityTable.causes(of: seen.flows)
    }

    /// Measures the path to a target beside that to others; nil if the target was not reached.
    func evidence(of target: ExplainTarget, comparedWith others: [IPAddress]) async -> QualityEvidence? {
        let found = await self.findings(
            target, families: AddressFamily.allCases, within: Thresholds.hostDiagnosis,
            walksToInternet: self.policy.isEnabled)
        guard [.works, .worksBut].contains(ExplanationComposer.compose(found).conclusion), var path = QualityPath(found)
        else { return nil }
        path.references = others
        return await QualityMeter(diagnostics: self, path: path).evidence(for: nil)
    }

    // The ways that packets do not take now, with what echoes over them say.
    private func otherWays(_ family: AddressFamily, _ found: LadderFindings) async -> [Uplink] {
        guard let path = found.paths[family], let explanation = path.explanation else { return [] }
        let others = explanation.uplinks(path.verdict, links: found.links).filter {
            $0.interface != path.verdict.path?.interface
        }
        return await self.ask(others.filter { $0.state != .down }, explanation, costly: found.costlyLinks)
    }

    /// Every way out of this host, and what echoes over those say that are not the only one in use; nil if it is not
    /// known.
    package func uplinks() async -> [Uplink]? {
        guard self.publicDiagnosis == .auto else { return nil }
        let report = await self.monitor.routeReport(RouteQuery(questions: [], families: AddressFamily.allCases))
        guard report.unavailableReason == nil else { return nil }
        var found: [Uplink] = []
        for family in AddressFamily.allCases {
            guard let route = report.sentinels[family].flatMap({ report.routes[$0] }),
                let explanation = route.explanation
            else { continue }
            let own = explanation.uplinks(route.verdict, links: report.links)
            let new = own.filter { uplink in !found.contains { $0.interface == uplink.interface } }
            let asked = new.filter { $0.role != .used && $0.state != .down }
            let answers = await self.ask(asked, explanation, costly: report.costlyLinks)
            found += new.map { uplink in answers.first { $0.isSame(as: uplink) } ?? uplink }
        }
        return found
    }

    // Nothing is sent over lines that cost money.
    private func ask(
        _ uplinks: [Uplink], _ explanation: RouteExplanation, costly: Set<String>
    ) async -> [Uplink] {
        await Array(uplinks.filter { !costly.contains($0.interface) }.prefix(Uplink.most)).concurrentMap { uplink in
            var uplink = uplink
            let (link, usual) = (uplink.interface, uplink.family.sentinels)
            let configured = self.monitor.sentinels[uplink.family] ?? usual.first
            let sentinels = configured == usual.first ? Array(usual.prefix(2)) : [configured].compactMap(\.self)
            if explanation.dropsAnswers(over: link) {
                uplink.state = .filtered
                return uplink
            }
            // The rules may lead only packets with an address of that link to its default route.
            guard let first = sentinels.first, await self.monitor.hasRoute(to: first, over: link) else { return uplink }
            let answers = await ([uplink.gateway].compactMap(\.self) + sentinels).concurrentMap {
                await self.dependencies.echo($0, over: link, within: .seconds(1))
            }
            uplink.state = Uplink.State(answers, from: uplink.gateway)
            return uplink
        }
    }

    /// The counters and the state of an interface; nil without one, and if a driver hangs.
    func own(of interface: String?) async -> HostEvidence? {
        guard let interface else { return nil }
        return await Promise.value(orAfter: { _ = self.monitor.call(after: .seconds(1), $0) }) {
            self.dependencies.readInterface(interface, completion: $0)
        }
    }

    /// Waits for `time`, or until the monitor stops or the Swift task is cancelled; false without a thread for it.
    @discardableResult
    func wait(_ time: Duration) async -> Bool {
        let isOver = Promise<Bool>()
        guard time > .zero, self.monitor.call(after: time, { isOver.fulfil(true) }) else { return time <= .zero }
        return await isOver.value() ?? false
    }

    /// The resolver's settings; a file that names no server is read again, because a program may be rewriting it.
    func settings(within limit: Duration) async -> ResolverSettings {
        let settings = self.dependencies.settings()
        guard settings.namesNoServer else { return settings }
        await self.wait(min(.milliseconds(100), limit))
        return self.dependencies.settings()
    }

    private func findings(
        _ target: ExplainTarget, families: [AddressFamily], within limit: Duration, walksToInternet: Bool = true,
        progress: (@Sendable (Explanation) -> Void)? = nil
    ) async -> LadderFindings {
        let own = target.isInternet ? families : target.target.address.map { [$0.family] } ?? families
        return await self.complete(
            LadderFindings(target: target, families: own), walksToInternet: walksToInternet, within: limit, progress)
    }

    private func complete(
        _ findings: LadderFindings, walksToInternet: Bool, within limit: Duration,
        _ progress: (@Sendable (Explanation) -> Void)? = nil
    ) async -> LadderFindings {
        let progress = DiagnosisProgress(findings, changed: progress)
        var diagnosis = PathDiagnosis(self, within: limit, progress: progress)
        diagnosis.walksToInternet = walksToInternet
        await diagnosis.findAll(findings.target, findings.families)
        var found = progress.findings
        for path in found.paths.values {
            guard let gateway = path.verdict.path?.gatewayKey else { continue }
            let witnesses = CauseFinder(findings: found, path: path).witnesses
            self.memory.record(gateway, path.gateway, witnesses, at: self.time.monotonic())
        }
        guard walksToInternet else { return found }
        let explanation = ExplanationComposer.compose(found)
        let cause = explanation.cause.flatMap { $0.isOfWayOut ? $0 : nil }
        let failing = explanation.ladders.first { cause != nil && $0.cause == cause }?.family
        // A person who asks about this host wants to know of a standby line that does not work.
        let asked =
            found.target.isInternet && explanation.conclusion != .broken ? found.families : [failing].compactMap(\.self)
        for family in asked {
            let ways = await self.otherWays(family, found)
            found.paths[family]?.otherWays = ways
        }
        return found
    }

    /// Diagnoses the internet as a whole, and keeps the findings as evidence about silence elsewhere.
    ///
    /// It sends packets with limited hops towards a public address only if the configuration allows it.
    package func diagnoseHost(within limit: Duration, isSilent: Bool) async -> HostFindings {
        let findings = LadderFindings(target: .internet, families: AddressFamily.allCases)
        let walks = self.policy.isEnabled || isSilent && self.mayWalk(about: nil)
        return HostFindings(await self.complete(findings, walksToInternet: walks, within: limit), walked: walks)
    }

    /// Sends each host on a path an echo; without hosts it searches them first.
    package func echoes(to hosts: [QualityStatus.Host]?, on path: NetworkPath) async -> EchoRound {
        await WayOutMeter(diagnostics: self).echoes(to: hosts, on: path)
    }

    /// Measures a path or a target; nil if it cannot be measured.
    package func measure(
        _ subject: QualitySubject, on path: NetworkPath, _ hosts: [QualityStatus.Host]
    ) async -> QualityEvidence? {
        await WayOutMeter(diagnostics: self).measure(subject, on: path, hosts)
    }

    /// The party that is responsible for a target's failure, `unknown` if nothing shows it; nil if it was reached.
    package func responsible(for target: Target, within limit: Duration) async -> FaultParty? {
        await self.cause(of: ExplainTarget(target), within: limit, walksToInternet: self.mayWalk(about: target))?.party
    }

    /// Why a target is not reached, `unknown` if nothing shows it in time; nil if it was reached.
    package func cause(
        of target: ExplainTarget, within limit: Duration, walksToInternet: Bool
    ) async -> Cause? {
        let explanation = await self.diagnose(target, within: limit, walksToInternet: walksToInternet)
        return explanation.conclusion == .broken ? explanation.cause ?? .unknown(.silence) : nil
    }

    /// Whether a diagnosis of a silence that no user asked for may send packets towards a public address.
    func mayWalk(about target: Target?) -> Bool {
        if self.policy.isEnabled { return true }
        return self.publicDiagnosis == .auto && self.memory.takesWalk(about: target, at: self.time.monotonic())
    }

    /// Whether the gateway of a family's default path answers; sends no packet if it was just reachable.
    package func gateway(_ family: AddressFamily) async -> RungReport {
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.rungLimit + .seconds(1))
        guard let findings = await diagnosis.defaultPath(family, watching: true) else { return .unknown(.gateway) }
        guard findings.verdict.level >= .routed, let path = findings.verdict.path else {
            let text = findings.verdict.reason.map { $0.description } ?? "no route"
            return .unknown(.gateway, ["there is no default path: \(text)"])
        }
        let quick = GatewayRung.report(path, findings.gateway, passive: findings.passive)
        let isFresh = findings.gateway.neighbour?.state == .reachable || quick.status == .notApplicable
        guard !isFresh, findings.passive == nil else { return quick }
        return GatewayRung.report(
            path, await diagnosis.probed(findings, since: self.time.monotonic()), passive: findings.passive)
    }

    /// Whether a resolver answers; with a family, only resolvers with an address of that family count.
    package func dns(_ family: AddressFamily? = nil) async -> RungReport {
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.rungLimit + .seconds(1))
        let servers = self.dependencies.settings().nameservers.filter { family == nil || $0.family == family }
        guard !servers.isEmpty else { return .notApplicable(.dns, "no resolver has such an address") }
        let resolvers = await diagnosis.routes(to: servers)
        let findings = await diagnosis.queryControlName(resolvers, within: PathDiagnostics.rungLimit)
        return DNSRung.report(resolvers: findings)
    }

    /// Whether the internet answers over a family; unknown if no check URL is configured.
    package func internet(_ family: AddressFamily) async -> RungReport {
        guard !self.policy.urls.isEmpty else { return InternetRung.report(nil) }
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.rungLimit * 2)
        guard let findings = await diagnosis.defaultPath(family, watching: false) else { return .unknown(.internet) }
        if findings.passive?.internet != nil { return InternetRung.report(nil, passive: findings.passive) }
        return InternetRung.report(ConnectivityEvaluator.decisive(await diagnosis.internet(family)))
    }
}

extension PathDiagnostics {
    /// The clients with which a diagnosis sends packets; tests move them into a namespace.
    package struct Dependencies: Sendable {
        private let probe: LazyThread<UDPProbe>
        private let hopWalk: LazyThread<HopWalk>
        private let flowWatch: LazyThread<FlowWatch>
        private let echo: EchoClient
        private let client: DNSClient
        /// The port of all resolvers.
        let dnsPort: UInt16
        let settings: @Sendable () -> ResolverSettings
        let hosts: @Sendable () -> HostsFile
        /// Reports the connections of other programs; nil if they are not observed.
        let connections: (any ConnectionObservation)?

        /// Creates dependencies with their own threads; `onThreadStart` runs first on each of them.
        ///
        /// Sockets are recorded in `own`.
        package init(
            time: any TimeSource, onThreadStart: @escaping @Sendable () -> Void = {},
            settings: @escaping @Sendable () -> ResolverSettings = ResolverSettings.system,
            hosts: @escaping @Sendable () -> HostsFile = HostsFile.system, dnsPort: UInt16 = 53,
            connections: (any ConnectionObservation)? = nil, own: OwnSockets? = nil
        ) {
            self.probe = LazyThread { try? UDPProbe(onThreadStart: onThreadStart) }
            self.hopWalk = LazyThread { try? HopWalk(own: own, onThreadStart: onThreadStart) }
            self.flowWatch = LazyThread { try? FlowWatch(onThreadStart: onThreadStart) }
            self.echo = EchoClient(onThreadStart: onThreadStart)
            self.client = DNSClient(time: time, own: own, onThreadStart: onThreadStart)
            self.dnsPort = dnsPort
            self.settings = settings
            self.hosts = hosts
            self.connections = connections
        }

        /// Sends a UDP probe to an address; nil if its thread cannot start or the Swift task is cancelled.
        func udpProbe(_ address: IPAddress, within limit: Duration) async -> UDPProbe.Result? {
            guard let probe = self.probe.thread else { return nil }
            return await Promise.value { probe.probe(address, within: limit, completion: $0) }
        }

        /// Probes a gateway in two ways that routers do not rate-limit like ICMP errors: a SYN to the port of name
        /// servers, open or not, and an echo request if this process may send one.
        ///
        /// `answered` is called with the delay of each answer.
        func ask(
            _ gateway: IPAddress, within limit: Duration, answered: @escaping @Sendable (Duration) -> Void
        ) {
            self.hopWalk.thread?.walk(to: gateway, port: 53, maximumHops: 1, within: limit) { walk in
                walk.arrival.map { answered($0.duration) }
            }
            var request = EchoClient.Request(SocketRequest(to: gateway, within: limit), payload: [])
            request.hopLimit = 1
            Task {
                if case .answered(_, let duration) = await self.echo.send(request).result { answered(duration) }
            }
        }

        /// Sends one echo request, over `link` alone if one is named.
        func echo(
            _ address: IPAddress, over link: String? = nil, hopLimit: Int? = nil, within limit: Duration
        ) async -> EchoClient.Result {
            var request = EchoClient.Request(SocketRequest(to: address, within: limit), payload: Array(0..<56))
            (request.socket.interface, request.hopLimit) = (link, hopLimit)
            return await self.echo.send(request).result
        }

        /// Walks to an address; nil if its thread cannot start or the Swift task is cancelled.
        func walk(to address: IPAddress, port: UInt16, within limit: Duration) async -> HopWalkResult? {
            guard let walk = self.hopWalk.thread else { return nil }
            return await Promise.value { walk.walk(to: address, port: port, within: limit, completion: $0) }
        }

        /// Watches the connections of all programs; none if its thread cannot start or the Swift task is cancelled.
        func flows(
            beside interface: String, every interval: Duration, for time: Duration
        ) async -> (flows: [Flow], own: HostEvidence) {
            guard let watch = self.flowWatch.thread else { return ([], HostEvidence()) }
            return await Promise.value { done in
                watch.watch(interface, every: interval, for: time) { done(($0, $1)) }
            } ?? ([], HostEvidence())
        }

        /// Reads what an interface shows now; `completion` is not called if the thread cannot start.
        func readInterface(_ interface: String, completion: @escaping @Sendable (HostEvidence) -> Void) {
            if let watch = self.flowWatch.thread { watch.read(interface, completion: completion) }
        }

        /// The TCP segments of all programs so far.
        var segments: (sent: UInt64, repeated: UInt64) {
            let traffic = self.connections?.statistics.traffic.values.map(\.self) ?? []
            return traffic.reduce(into: (0, 0)) { sum, direction in
                sum = (sum.sent &+ direction.sentSegments, sum.repeated &+ direction.retransmittedSegments)
            }
        }

        /// The route question for a resolver.
        func resolverQuestion(_ server: IPAddress) -> RouteQuestion {
            RouteQuestion(server, port: self.dnsPort, ipProtocol: RouteQuestion.udp)
        }

        /// Sends one query to one resolver; times out if the Swift task is cancelled, even if an answer arrives later.
        func query(
            _ name: String, _ type: DNSQuestion.RecordType, _ server: IPAddress, within limit: Duration
        ) async -> DNSOutcome {
            let question = DNSQuestion(
                name: name, type: type, server: server, port: self.dnsPort, limit: limit,
                usesTCP: self.settings().usesTCP)
            return await Promise.value { self.client.ask(question, completion: $0) } ?? .timedOut
        }
    }
}

/// A value that arrives once, from a callback; only the first one counts, and one task may wait for it.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var isOver = false
        var waiter: CheckedContinuation<Value?, Never>?
    }

    private let state = Mutex(State())

    /// Sets the value, unless it is already set or the wait has ended; nil ends the wait.
    func fulfil(_ value: Value?) {
        let waiter = self.state.withLock { state in
            if !state.isOver { (state.value, state.isOver) = (value, true) }
            return state.waiter.take()
        }
        waiter?.resume(returning: value)
    }

    /// The value passed on by `begin`; nil if the Swift task is cancelled or `timer` calls back first.
    static func value(
        orAfter timer: (@escaping @Sendable () -> Void) -> Void = { _ in },
        _ begin: (@escaping @Sendable (Value) -> Void) -> Void
    ) async -> Value? {
        let promise = Promise()
        begin { promise.fulfil($0) }
        return await promise.value(orAfter: timer)
    }

    /// The value when it arrives; nil if the Swift task is cancelled or `timer` calls back first.
    func value(orAfter timer: (@escaping @Sendable () -> Void) -> Void = { _ in }) async -> Value? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (isOver, value) = self.state.withLock { state in
                    if !state.isOver { state.waiter = waiter }
                    return (state.isOver, state.value)
                }
                if isOver { waiter.resume(returning: value) } else { timer { self.fulfil(nil) } }
            }
        } onCancel: {
            self.fulfil(nil)
        }
    }
}
