internal import TidegateAttribution
internal import HTTPTypes
internal import Synchronization
package import TidegateCore

/// Probes targets with modules; each request is one probe.
package final class ProbeRunner: ProbeService {
    /// The probe settings of a configuration file.
    package struct Configuration: Sendable, Hashable {
        /// The modules by name.
        package var modules: [String: ProbeModule] = [:]
        package var targets = ProbeTargetPolicy()
        /// How much earlier than its scrape a probe ends.
        package var timeoutOffset = Duration.milliseconds(500)
        /// How many probes are remembered, and how many earlier failures.
        package var historyLimit = 100
        /// The maximum number of concurrent probes; each has a socket.
        package var maxConcurrent = 512
        /// The memory shared by the bodies that modules examine.
        package var bodyBudget = ByteText(64 << 20)

        /// No modules, and the daemon's default limits.
        package init() {}
    }

    private let environment: ProbeEnvironment
    private let configuration: Mutex<Configuration>
    private let reports: ProbeHistory
    private let running = Atomic(0)
    private let ownPorts = Mutex<Set<UInt16>>([])
    let bodies: ProbeBudget
    let documents = ProbeBudget(limit: 1)

    /// A runner with the modules of `configuration`.
    package init(_ configuration: Configuration, environment: ProbeEnvironment) {
        self.configuration = Mutex(configuration)
        self.environment = environment
        self.reports = ProbeHistory(limit: configuration.historyLimit)
        self.bodies = ProbeBudget(limit: Int(configuration.bodyBudget.bytes))
    }

    /// Applies new modules and targets to future probes; the history and the limits stay.
    package func update(_ configuration: Configuration) {
        self.configuration.withLock { ($0.modules, $0.targets) = (configuration.modules, configuration.targets) }
    }

    /// Sets the ports on which this process listens: probes neither send credentials there nor use unsafe methods.
    package func listens(on ports: Set<UInt16>) { self.ownPorts.withLock { $0 = ports } }

    package var hasModules: Bool { self.configuration.withLock { !$0.modules.isEmpty } }

    package var modules: String {
        let modules = self.configuration.withLock { $0.modules }
        let texts = modules.sorted { $0.key < $1.key }.map { name, module in
            "  \(name):\n" + module.text.split(separator: "\n").map { "    \($0)\n" }.joined()
        }
        return "modules:\n" + texts.joined()
    }

    package var history: [ProbeReport] { self.reports.reports }

    package func probe(_ question: ProbeQuestion) async throws(ProbeRefusal) -> ProbeReport {
        let configuration = self.configuration.withLock { $0 }
        guard var module = configuration.modules[question.module] else { throw .unknownModule(question.module) }
        let limit = try ProbeTimeout.limit(
            module: module.timeout, scrape: question.scrapeTimeout, offset: configuration.timeoutOffset)
        guard !question.target.isEmpty else { throw .missingTarget }
        guard question.isTrusted || !module.hasCredentials || configuration.targets.credentials[question.module] != nil
        else {
            throw .credentials(module: question.module)
        }
        if let hostname = question.hostname, !hostname.isEmpty { try module.ask(for: hostname) }
        let count = self.running.add(1, ordering: .relaxed).newValue
        defer { self.running.subtract(1, ordering: .relaxed) }
        guard count <= configuration.maxConcurrent else { throw .tooMany(limit: configuration.maxConcurrent) }
        return self.reports.add(await self.run(question, module, configuration, within: limit))
    }

    /// The time limit of a run without a module timeout; below the interval, so that the next run is not skipped.
    private static func standardLimit(of probe: ScheduledProbe) -> Duration { min(probe.every * 0.8, .seconds(120)) }

    /// Performs one run of a scheduled probe; nil if its module no longer exists.
    ///
    /// The run ends within the module's timeout. Without one, the limit is four fifths of the interval, and two minutes
    /// at most.
    package func run(_ probe: ScheduledProbe) async -> ProbeReport? {
        let configuration = self.configuration.withLock { $0 }
        guard let module = configuration.modules[probe.module] else { return nil }
        let limit = module.timeout.flatMap { $0 > .zero ? $0 : nil } ?? Self.standardLimit(of: probe)
        return await self.run(
            ProbeQuestion(module: probe.module, target: probe.target), module, configuration, within: limit,
            isScheduled: true)
    }

    private func run(
        _ question: ProbeQuestion, _ module: ProbeModule, _ configuration: Configuration, within limit: Duration,
        isScheduled: Bool = false
    ) async -> ProbeReport {
        let (time, target) = (self.environment.time, question.target)
        let (start, wall) = (time.monotonic(), time.wall())
        var findings = ProbeFindings(log: ProbeLog(module: question.module, target: target), time: time)
        findings.note("Beginning probe", [("probe", module.prober.name), ("timeout_seconds", "\(limit.inSeconds)")])
        let isSafe = if case .http(let http) = module.prober { HTTPProbeOptions.isSafe(http.method) } else { true }
        let credentials = CredentialPolicy(
            module: question.module, hasCredentials: module.hasCredentials, isSafe: isSafe,
            hosts: configuration.targets.credentials[question.module], ownPorts: self.ownPorts.withLock { $0 })
        let probe = module.probe(
            in: ProbeContext(
                environment: self.environment, policy: configuration.targets, credentials: credentials,
                deadline: start + limit, bodies: self.bodies, documents: self.documents))
        do { try await probe.run(target, &findings) } catch { findings.fail(error) }
        let duration = time.monotonic() - start
        // Every run ends soon after its limit while this process runs, also on a busy host.
        let late = duration - limit
        if findings.failure != nil, late > Thresholds.frozen { findings.explain(.thisHost(.frozen(late))) }
        // Not part of the measured duration.
        await self.explain(&findings, of: target, by: probe, isScheduled: isScheduled)
        findings.set(.success, findings.failure == nil ? 1 : 0)
        findings.set(.duration, duration.inSeconds)
        findings.set(.timeout, limit.inSeconds)
        findings.set(.gated, findings.isGated ? 1 : 0)
        if let failure = findings.failure {
            findings.set(.failure, 1, labels: [failure.reason, failure.party.label])
        }
        findings.note(
            findings.failure == nil ? "Probe succeeded" : "Probe failed",
            [("duration_seconds", "\(duration.inSeconds)")])
        return ProbeReport(
            module: question.module, target: target, start: wall, duration: duration, failure: findings.failure,
            isGated: findings.isGated, isOutage: findings.isOutage, connection: findings.connection,
            families: findings.families.sorted { $0.name < $1.name }, log: findings.log, configuration: module.text)
    }

    // Finds the responsible party if no observation shows it: by the current path, and by the rungs below.
    private func explain(
        _ findings: inout ProbeFindings, of target: String, by probe: any TargetProbe, isScheduled: Bool
    ) async {
        guard let failure = findings.failure, !findings.isGated else { return }
        let network = self.environment.network
        if let address = findings.address, failure.isInDoubt, !probe.source.isBound {
            let route = await network.route(address)
            if route.verdict.level != .unknown, route.verdict.level < .routed {
                let reason = route.verdict.reason ?? .noRoute
                return findings.losePath(
                    reason, "the path to \(address) was lost: \(reason.description(ofLink: route.link))")
            }
        }
        // No client waits for a scheduled run, so it also rechecks a path that was good recently.
        guard failure.party == .unknown || findings.isUnresolved || isScheduled && failure.party == .path,
            let subject = findings.isUnresolved
                ? .internet
                : findings.address.flatMap({
                    probe.subject(of: target, at: $0, redirectedTo: findings.redirectedPort)
                }),
            let cause = await network.cause(
                ProbeDoubt(subject: subject, address: findings.address, isScheduled: isScheduled))
        else { return }
        findings.explain(cause)
    }
}

extension ProbeModule {
    /// The probe that the module describes.
    fileprivate func probe(in context: ProbeContext) -> any TargetProbe {
        switch self.prober {
        case .http(let options): HTTPProbe(options: options, context: context)
        case .icmp(let options): ICMPProbe(options: options, context: context)
        case .dns(let options): DNSProbe(options: options, context: context)
        case .tcp(let options): TCPProbe(options: options, context: context)
        case .unix(let options): UnixProbe(options: options, context: context)
        case .grpc(let options): GRPCProbe(options: options, context: context)
        case .websocket(let options): WebSocketProbe(options: options, context: context)
        }
    }

    /// Has targets asked for the host `name`.
    fileprivate mutating func ask(for name: String) throws(ProbeRefusal) {
        let target = try? Target(name)
        switch self.prober {
        case .http(var options):
            if let own = options.hostHeader, own != name { throw .hostnameConflict(module: own, parameter: name) }
            guard target != nil, let field = try? HTTPField(line: "Host: \(name)") else { throw .invalidHostname(name) }
            options.headers.removeAll { $0.name.canonicalName == "host" }
            options.headers.append(field)
            self.prober = .http(options)
        // As in blackbox_exporter: nothing in their packets could name a host.
        case .tcp(var options):
            guard options.tls.serverName == nil else { return }
            guard let target, target.port == nil else { throw .invalidHostname(name) }
            options.tls.serverName = target.host
            self.prober = .tcp(options)
            self.text = ModuleLines.text(self.text, adding: ("server_name", target.host), to: ["tcp", "tls_config"])
        // blackbox_exporter also ignores it.
        case .icmp, .dns, .unix, .grpc: break
        case .websocket(var options):
            if let own = options.hostHeader, own != name { throw .hostnameConflict(module: own, parameter: name) }
            guard let target else { throw .invalidHostname(name) }
            options.ask(for: target)
            self.prober = .websocket(options)
        }
    }
}

/// The latest probes; failures are kept longer, because users look for them.
final class ProbeHistory: Sendable {
    private struct State {
        var latest: [ProbeReport] = []
        /// Failures that no longer fit into ``latest``.
        var failures: [ProbeReport] = []
        var lastNumber: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// An empty history of `limit` probes, and as many earlier failures.
    init(limit: Int) { self.limit = max(0, limit) }

    /// Adds a report and assigns its number.
    func add(_ report: ProbeReport) -> ProbeReport {
        self.state.withLock { state in
            var report = report
            state.lastNumber += 1
            report.number = state.lastNumber
            state.latest.append(report)
            if state.latest.count > self.limit {
                let oldest = state.latest.removeFirst()
                if oldest.failure != nil { state.failures.append(oldest) }
                if state.failures.count > self.limit { state.failures.removeFirst() }
            }
            return report
        }
    }

    /// Newest first.
    var reports: [ProbeReport] { self.state.withLock { ($0.failures + $0.latest).reversed() } }
}

/// The time limit of a probe.
package enum ProbeTimeout {
    /// For a scrape without a timeout header, as in blackbox_exporter.
    private static let unknown = 120.0
    /// No scrape takes longer than a day.
    private static let longest = 86_400.0

    /// The module's timeout or the scrape's minus `offset`, whichever is shorter.
    ///
    /// - Throws: ``ProbeRefusal/badTimeout(_:)`` if the scrape's timeout is not a number of seconds.
    package static func limit(
        module: Duration?, scrape: String?, offset: Duration
    ) throws(ProbeRefusal) -> Duration {
        var seconds = 0.0
        if let scrape, !scrape.isEmpty {
            guard let number = Double(scrape), number.isFinite else { throw .badTimeout(scrape) }
            seconds = number
        }
        let most = (seconds == 0 ? Self.unknown : seconds) - offset.inSeconds
        let own = module?.inSeconds ?? 0
        return .seconds(min(own > 0 && own < most || most < 0 ? own : most, Self.longest))
    }
}
