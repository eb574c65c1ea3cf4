internal import HTTPTypes
internal import Synchronization
package import TidegateCore

/// Probes targets by modules, one probe for each question.
package final class ProbeRunner: ProbeService {
    /// What a configuration file says about probes.
    package struct Configuration: Sendable, Hashable {
        /// The modules by their names.
        package var modules: [String: ProbeModule]
        package var targets: ProbeTargetPolicy
        /// How much earlier than the scrape a probe ends.
        package var timeoutOffset: Duration
        /// How many probes are remembered, and how many failures before them.
        package var historyLimit: Int
        /// How many probes are answered at a time; each may keep a body in memory, and has a socket.
        package var maxConcurrent: Int

        /// A configuration from its parts.
        package init(
            modules: [String: ProbeModule] = [:], targets: ProbeTargetPolicy = ProbeTargetPolicy(),
            timeoutOffset: Duration = .milliseconds(500), historyLimit: Int = 100,
            maxConcurrent: Int = 512
        ) {
            self.modules = modules
            self.targets = targets
            self.timeoutOffset = timeoutOffset
            self.historyLimit = historyLimit
            self.maxConcurrent = maxConcurrent
        }
    }

    private let environment: ProbeEnvironment
    private let configuration: Mutex<Configuration>
    private let reports: ProbeHistory
    private let running = Atomic(0)

    /// A runner that takes its modules from `configuration`.
    package init(_ configuration: Configuration, environment: ProbeEnvironment) {
        self.configuration = Mutex(configuration)
        self.environment = environment
        self.reports = ProbeHistory(limit: configuration.historyLimit)
    }

    /// Takes new modules and targets for the next probes; the history and the limits stay.
    package func update(_ configuration: Configuration) {
        self.configuration.withLock { ($0.modules, $0.targets) = (configuration.modules, configuration.targets) }
    }

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
        if let hostname = question.hostname, !hostname.isEmpty { try module.ask(for: hostname) }
        let count = self.running.add(1, ordering: .relaxed).newValue
        defer { self.running.subtract(1, ordering: .relaxed) }
        guard count <= configuration.maxConcurrent else { throw .tooMany(limit: configuration.maxConcurrent) }
        return self.reports.add(await self.run(question, module, configuration.targets, within: limit))
    }

    /// One run of a scheduled probe, which ends within its module's timeout or, without one, its interval; nil if there
    /// is no such module any more.
    package func run(_ probe: ScheduledProbe) async -> ProbeReport? {
        let configuration = self.configuration.withLock { $0 }
        guard let module = configuration.modules[probe.module] else { return nil }
        let limit = module.timeout.flatMap { $0 > .zero ? $0 : nil } ?? probe.every
        return await self.run(
            ProbeQuestion(module: probe.module, target: probe.target), module, configuration.targets, within: limit)
    }

    private func run(
        _ question: ProbeQuestion, _ module: ProbeModule, _ policy: ProbeTargetPolicy, within limit: Duration
    ) async -> ProbeReport {
        let (time, target) = (self.environment.time, question.target)
        let (start, wall) = (time.monotonic(), time.wall())
        var findings = ProbeFindings(log: ProbeLog(module: question.module, target: target), time: time)
        findings.note(
            "Beginning probe", [("probe", module.prober.rawValue), ("timeout_seconds", "\(limit.inSeconds)")])
        let probe = module.probe(
            in: ProbeContext(environment: self.environment, policy: policy, deadline: start + limit))
        await probe.run(target, &findings)
        let duration = time.monotonic() - start
        // What was seen does not say: the rungs below are asked, and that takes no part in the measurement.
        if findings.failure?.party == .unknown, let subject = await probe.subject(of: target),
            let cause = await self.environment.network.cause(subject)
        {
            findings.explain(cause)
        }
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
            isGated: findings.isGated, families: findings.families.sorted { $0.name < $1.name },
            log: findings.log, configuration: module.text)
    }
}

extension ProbeModule {
    /// What asks a target as the module says.
    fileprivate func probe(in context: ProbeContext) -> any TargetProbe {
        switch self.prober {
        case .http: HTTPProbe(options: self.http, context: context)
        case .icmp: ICMPProbe(options: self.icmp, context: context)
        case .dns: DNSProbe(options: self.dns, context: context)
        case .tcp: TCPProbe(options: self.tcp, context: context)
        case .unix: UnixProbe(options: self.unix, context: context)
        }
    }

    /// Has targets asked for `hostname`.
    fileprivate mutating func ask(for hostname: String) throws(ProbeRefusal) {
        switch self.prober {
        case .http:
            if let own = self.http.hostHeader, own != hostname {
                throw .hostnameConflict(module: own, parameter: hostname)
            }
            guard (try? Target(hostname)) != nil, let field = try? HTTPField(line: "Host: \(hostname)") else {
                throw .invalidHostname(hostname)
            }
            self.http.headers.removeAll { $0.name.canonicalName == "host" }
            self.http.headers.append(field)
        // As in blackbox_exporter: nothing in their packets could name a host.
        case .icmp, .dns: break
        case .tcp:
            guard self.tcp.tls.serverName == nil else { return }
            guard let target = try? Target(hostname), target.port == nil else { throw .invalidHostname(hostname) }
            self.tcp.tls.serverName = target.host
            self.text = ModuleLines.text(self.text, adding: ("server_name", target.host), to: ["tcp", "tls_config"])
        // blackbox_exporter takes no notice of it, either.
        case .unix: break
        }
    }
}
