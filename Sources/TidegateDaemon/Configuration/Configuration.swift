internal import FoundationEssentials
internal import HTTPTypes
internal import Synchronization
package import Tidegate
package import TidegateProbes
internal import TidegateServer
internal import TidegateStore

/// The configuration file; absent keys have their defaults.
package struct Configuration: Sendable, Hashable {
    var reachability = ReachabilityConfiguration()
    /// The section's `targets`, with the file's names; ``monitorConfiguration(version:)`` adds them to `reachability`.
    var targets: [NamedTarget] = []
    var transfers = Transfers()
    var tasks: [ScheduledTask] = []
    package var probes = ProbeRunner.Configuration()
    var scheduledProbes: [ScheduledProbe] = []
    var journal = Journal()
    /// The directories below which tasks of the control socket's group may read and write files.
    var memberDirectories: [String] = []
    /// The command that gets each incident on its standard input; empty without one.
    var incidentCommand: [String] = []
    /// Whether the quality of the way out is measured.
    var measuresQuality = true
    /// Whether ways out that are not used are asked.
    var checksStandby = true
    var labels = Labels()
    var remoteWrite = RemoteWrite()
    var events = Events()
    var metrics = Metrics()
    /// The `observation` section: how other programs' connections are observed.
    var observation = ConnectionsConfiguration()

    /// A target that is monitored permanently.
    struct NamedTarget: Sendable, Hashable {
        var name = ""
        var host = ""
        var port: UInt16?
        /// The URL to request, which contains the host and the port.
        var url: String?
        var check: TargetCheck.Kind?
        var interval = TargetCheck(.tcp).interval
        var timeout = TargetCheck(.tcp).timeout
        /// The wanted share of time in which it is reached.
        var objective: Double?
        /// The host and port, parsed; nil if they are invalid.
        var target: Target? {
            if let url = self.url { return try? HTTPURL(url).target }
            guard let host = try? Target(self.host), host.port == nil else { return nil }
            guard let port = self.port else { return host }
            return try? Target(host.address?.family == .ipv6 ? "[\(host)]:\(port)" : "\(host):\(port)")
        }
    }

    /// The `labels` section: where this host is, and who connects it.
    struct Labels: Sendable, Hashable {
        var site: String?
        var provider: String?
    }

    /// The `transfers` section: the session's configuration, and its retry policy.
    struct Transfers: Sendable, Hashable {
        var session = SessionConfiguration()
        var retry = Retry()
    }

    /// The differences of a retry policy from the default.
    struct Retry: Sendable, Hashable {
        var attempts: Int?
        var base: Duration?
        var cap: Duration?
        var maxElapsed: DurationText?
        var statuses: [Int]?

        /// This policy, with nil values taken from `defaults`.
        func merged(withDefaults defaults: Retry) -> Retry {
            Retry(
                attempts: self.attempts ?? defaults.attempts, base: self.base ?? defaults.base,
                cap: self.cap ?? defaults.cap, maxElapsed: self.maxElapsed ?? defaults.maxElapsed,
                statuses: self.statuses ?? defaults.statuses)
        }

        /// The complete policy; a bound given alone moves the default of the other bound.
        func policy() -> RetryPolicy {
            let standard = RetryPolicy()
            let base = self.base ?? min(standard.base, self.cap ?? standard.base)
            return RetryPolicy(
                attempts: self.attempts ?? standard.attempts, base: base, cap: self.cap ?? max(standard.cap, base),
                maxElapsed: self.maxElapsed.map(\.duration) ?? standard.maxElapsed,
                statuses: self.statuses.map(Set.init) ?? standard.statuses)
        }
    }

    /// The `journal` section: retention times, and the maximum number of tasks.
    struct Journal: Sendable, Hashable {
        var retention = TidegateStore.Journal.Retention()
        /// The maximum number of open tasks; further submissions are rejected.
        var maxOpenTasks = 100_000
    }

    /// The `remote_write` section: the receiver of samples.
    struct RemoteWrite: Sendable, Hashable {
        /// The receiver; nil disables remote write.
        var url: String?
        /// The maximum size of the queue, in bytes.
        var bound = Self.standard.bound
        var interval = Self.standard.interval
        /// The labels added to every series.
        var labels: [RemoteWriteConfiguration.Label] = []
        var headers: [HTTPField] = []
        var user: String?
        var passwordFile: String?
        var tokenFile: String?
        var certificateFile: String?

        private static let standard = RemoteWriteConfiguration(url: "", directory: "")
    }

    /// The `events` section: the size of the history, and the redaction of URLs.
    struct Events: Sendable, Hashable {
        var history = EndpointConfiguration().eventHistory
        var redaction = URLRedaction()
    }

    /// The `metrics` section: whether series have a host label.
    struct Metrics: Sendable, Hashable {
        var mode = Mode.off
        /// The hosts as in URLs: in lower case, or the canonical text of an address.
        var hosts: [String] = []
        var maxHosts = 50

        /// The values of `host_label`.
        enum Mode: String, Sendable, CaseIterable {
            case off, allowlist, top
        }

        /// The host label of the monitor's metrics.
        var hostLabel: HostLabel {
            switch self.mode {
            case .off: .off
            case .allowlist: .allowlist(Set(self.hosts))
            case .top: .top(limit: self.maxHosts)
            }
        }
    }
}

extension Configuration {
    /// Reads the configuration from a file, or from the files of a directory that end in `.yml`, in the order of their
    /// names.
    ///
    /// The files of a directory are one configuration: their lists are appended, and a value may be set only once.
    ///
    /// - Throws: ``ConfigurationError`` with, for every problem, the file, the line and the key.
    package static func load(file: String) throws(ConfigurationError) -> Configuration {
        try self.root(ofFile: file).map { root throws(ConfigurationError) in try Configuration(root, name: file) }
            ?? Configuration()
    }

    /// The text of a configuration file, or of a directory's files together, with the values that may leave this machine.
    ///
    /// - Throws: ``ConfigurationError`` if a file cannot be read or is not YAML.
    package static func redactedText(of file: String) throws(ConfigurationError) -> String {
        try self.root(ofFile: file).map { ConfigurationText.text(of: $0, showing: ConfigurationText.openKeys) } ?? ""
    }

    /// The content of a file, or of the files of a directory; nil if they are empty.
    static func root(ofFile file: String) throws(ConfigurationError) -> ConfigurationNode? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: file))?.sorted()
        let files = names?.filter { $0.hasSuffix(".yml") && !$0.hasPrefix(".") }.map { "\(file)/\($0)" } ?? [file]
        guard !files.isEmpty else { throw ConfigurationError(file: file, "has no file that ends in .yml") }
        var problems = ProblemList()
        var root: ConfigurationNode?
        for file in files {
            let text = try Result { try TextFile.read(file, atMost: 1 << 20) }
                .mapError { ConfigurationError(file: file, "\($0)") }.get()
            guard let node = try YAMLFile.parse(text, file: file) else { continue }
            if root == nil {
                root = node
            } else {
                root?.merge(node) { problems.add("is set in \($1.file):\($1.line) as well", at: $0) }
            }
        }
        guard problems.entries.isEmpty else { throw ConfigurationError(problems.entries) }
        return root
    }

    /// Reads a configuration; `name` stands for all of it in messages.
    init(_ root: ConfigurationNode, name file: String) throws(ConfigurationError) {
        var problems = ProblemList()
        var configuration = Configuration()
        problems.read(ConfigurationSchema.root, from: root, into: &configuration)
        problems.refuseOnlineWithoutChecks(configuration, root)
        problems.refuseUnknownModules(configuration, root)
        guard problems.entries.isEmpty else { throw ConfigurationError(problems.entries) }
        // Finds values that conflict. Checked here rather than in Daemon, so that a reload finds them too.
        _ = try Result { () throws(TextError) in try configuration.monitorConfiguration(version: "") }
            .mapError { ConfigurationError(file: file, $0.description) }.get()
        self = configuration
    }

    /// The files with passwords, tokens or header fields that requests need.
    var secretFiles: [String] {
        [self.remoteWrite.passwordFile, self.remoteWrite.tokenFile].compactMap(\.self)
            + self.tasks.compactMap(\.headersFile)
    }

    // MARK: the monitor's configuration

    /// The monitor's configuration, with the defaults for keys that are absent.
    ///
    /// - Throws: ``TextError`` with the message of the policy that rejects a value.
    func monitorConfiguration(version: String) throws(TextError) -> MonitorConfiguration {
        var configuration = MonitorConfiguration()
        configuration.reachability = self.reachability
        configuration.session = self.sessionConfiguration(version: version)
        configuration.hostLabel = self.metrics.hostLabel
        if !self.reachability.internetCheck.isEnabled { configuration.reachability.internetCheck = .off }
        for entry in self.targets {
            guard let target = entry.target else { continue }
            configuration.reachability.targets.append(target)
            configuration.reachability.targetChecks[target] = entry.targetCheck(of: target)
            configuration.targetNames[target] = configuration.targetNames[target] ?? entry.name
        }
        configuration.diagnosesHost = true
        configuration.measuresQuality = self.measuresQuality
        configuration.reachability.checksStandby = self.checksStandby
        configuration.connections = self.observation
        try Result { try configuration.validate() }.mapError { TextError("\($0)") }.get()
        return configuration
    }

    private func sessionConfiguration(version: String) -> SessionConfiguration {
        var configuration = self.transfers.session
        configuration.retry = self.transfers.retry.policy()
        configuration.userAgent = "tidegate/\(version)"
        configuration.waitsOut = true
        configuration.redaction = self.events.redaction
        configuration.reportsRetryTokens = self.metrics.mode != .off
        configuration.recordsExchanges = true
        configuration.cookies = CookieJar()
        return configuration
    }

    /// Applies the file's settings to the endpoint.
    func apply(to endpoint: inout EndpointConfiguration) {
        endpoint.redaction = self.events.redaction
        endpoint.eventHistory = self.events.history
        (endpoint.deployment.site, endpoint.deployment.provider) = (self.labels.site, self.labels.provider)
        for entry in self.targets { endpoint.deployment.objectives[entry.name] = entry.objective }
    }

    // MARK: reloads

    /// The keys whose values differ from `running` and need a restart.
    func keysThatNeedRestart(from running: Configuration) -> [String] {
        ConfigurationSchema.root.flatMap { $0.changes(running, self) }
    }
}

extension ProblemList {
    // A gate that cannot open would hold a task until its patience ends.
    fileprivate mutating func refuseOnlineWithoutChecks(_ configuration: Configuration, _ root: ConfigurationNode) {
        guard !configuration.reachability.internetCheck.isEnabled else { return }
        let gate = root.value(of: "transfers")?.value(of: "gate")?.value(of: "require")
        let tasks = root.value(of: "tasks")?.elements.compactMap { $0.value(of: "require") } ?? []
        for element in ([gate].compactMap(\.self) + tasks).flatMap(\.elements) {
            guard case .scalar("online") = element.content else { continue }
            self.add("\"online\" requires reachability.internet_check to be enabled", at: element)
        }
    }

    // Checked at the end, because the file may list the modules after the probes.
    fileprivate mutating func refuseUnknownModules(_ configuration: Configuration, _ root: ConfigurationNode) {
        let nodes = root.value(of: "probes")?.elements ?? []
        for (probe, node) in zip(configuration.scheduledProbes, nodes) {
            guard !probe.module.isEmpty, configuration.probes.modules[probe.module] == nil else { continue }
            self.add("\"modules\" has no module \"\(probe.module)\"", at: node.value(of: "module") ?? node)
        }
        for module in configuration.probes.targets.credentials.keys.sorted()
        where configuration.probes.modules[module] == nil {
            guard let node = root.value(of: "probe_credentials") else { continue }
            self.add("\"modules\" has no module \"\(module)\"", at: node.value(of: module) ?? node)
        }
    }
}

/// A request that the daemon makes periodically.
package struct ScheduledTask: Sendable, Hashable {
    /// The request, in the form of a submission.
    package var submission = TaskSubmission(url: "")
    package var headersFile: String?
    /// The parts of a form; a value that begins with `@/` is the path of a file.
    package var form: [FormPart] = []
    package var every: Duration = .zero
    /// The maximum random delay of a run, as a fraction of ``every``.
    package var jitter = 0.1
    package var timeout: DurationText?
    var retry = Configuration.Retry()

    /// A field of a form.
    package struct FormPart: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    package var name: String {
        get { self.submission.name ?? "" }
        set { self.submission.name = newValue }
    }
}

extension Configuration.NamedTarget {
    /// The check of the target: from the file, or the default for this kind of target.
    fileprivate func targetCheck(of target: Target) -> TargetCheck {
        let location = self.url.flatMap { try? HTTPURL($0) }
        let standard = location == nil ? TargetCheck.standard(for: target).kind : .http
        var check = TargetCheck(self.check ?? standard, interval: self.interval, timeout: self.timeout)
        check.location = location
        return check
    }
}

extension ProxyPolicy {
    /// One proxy for http and https URLs.
    var both: String? {
        get { self.http }
        set { (self.http, self.https) = (newValue, newValue) }
    }
}

extension ServerTrustPolicy {
    /// This policy with the authorities and pins of a submission, which makes it no less strict otherwise.
    fileprivate func overridden(by own: ServerTrustPolicy) -> ServerTrustPolicy {
        var policy = self
        policy.caFile = own.caFile ?? self.caFile
        if !own.pins.isEmpty { policy.pins = own.pins }
        policy.hosts = self.hosts.mapValues { $0.overridden(by: own) }
        return policy
    }
}

/// The file's current settings for tasks that do not set them.
final class TransferPolicies: Sendable {
    private let started: Configuration.Transfers
    private let current: Mutex<Configuration.Transfers>

    /// Starts with the settings from which the session was made.
    init(_ transfers: Configuration.Transfers) {
        self.started = transfers
        self.current = Mutex(transfers)
    }

    /// The file's current settings.
    var transfers: Configuration.Transfers { self.current.withLock { $0 } }

    /// Sets the retry policy and the gate of future tasks.
    func update(_ transfers: Configuration.Transfers) { self.current.withLock { $0 = transfers } }

    /// Applies reloaded settings to a request; the session keeps the settings from its start.
    func apply(to request: inout TaskRequest) {
        let transfers = self.transfers
        if request.options.retry == nil, transfers.retry != self.started.retry {
            request.options.retry = transfers.retry.policy()
        }
        if let own = request.options.tls { request.options.tls = self.started.session.tls.overridden(by: own) }
        let (gate, former) = (transfers.session.gate, self.started.session.gate)
        if request.options.gate == nil, gate != former { request.options.gate = gate }
    }
}
