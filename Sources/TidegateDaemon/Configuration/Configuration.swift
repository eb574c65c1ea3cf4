package import HTTPTypes
package import Tidegate
package import TidegateCore
package import TidegateProbes

/// The configuration file; nil and empty values mean the default.
package struct Configuration: Sendable, Hashable {
    package var reachability = Reachability()
    package var transfers = Transfers()
    package var tasks: [ScheduledTask] = []
    package var probes = ProbeRunner.Configuration()
    package var scheduledProbes: [ScheduledProbe] = []
    package var journal = Journal()
    package var control = Control()
    package var remoteWrite = RemoteWrite()
    package var events = Events()
    package var metrics = Metrics()
    package var observation = Observation()

    /// The built-in defaults.
    package init() {}

    /// The `reachability` section.
    package struct Reachability: Sendable, Hashable {
        package var excludedInterfaces: [String]?
        package var ipv4Sentinels: [IPAddress]?
        package var ipv6Sentinels: [IPAddress]?
        package var targets: [NamedTarget] = []
        package var meteredInterfaces: [String]?
        package var internetCheck = InternetCheck()
        /// The firewall mark of route lookups.
        package var mark: UInt32?
        /// The user id of route lookups.
        package var uid: UInt32?
    }

    /// The `internet_check` section.
    package struct InternetCheck: Sendable, Hashable {
        package var isEnabled = false
        package var urls: [String] = []
        package var interval: Duration?
    }

    /// A target that is monitored permanently.
    package struct NamedTarget: Sendable, Hashable {
        package var name = ""
        package var host = ""
        package var port: UInt16?
        /// The URL to request, which has the host and the port.
        package var url: String?
        package var check: TargetCheck.Kind?
        package var interval: Duration?
        package var timeout: Duration?
        /// The host and port, parsed; nil if they are invalid.
        package var target: Target? {
            if let url = self.url { return try? HTTPURL(url).target }
            guard let host = try? Target(self.host), host.port == nil else { return nil }
            guard let port = self.port else { return host }
            return try? Target(host.address?.family == .ipv6 ? "[\(host)]:\(port)" : "\(host):\(port)")
        }
    }

    /// The `transfers` section.
    package struct Transfers: Sendable, Hashable {
        package var connectionsPerHost: Int?
        package var connections: Int?
        package var maxFilesize: ByteText?
        package var proxy = ProxyPolicy.direct
        package var tls = ServerTrustPolicy()
        package var redirects: RedirectPolicy?
        package var tracing: Bool?
        package var retry = Retry()
        package var budget = Budget()
        package var gate = Gate()
    }

    /// A retry policy's differences from the default.
    package struct Retry: Sendable, Hashable {
        package var attempts: Int?
        package var base: Duration?
        package var cap: Duration?
        package var maxElapsed: DurationText?
        package var statuses: [Int]?

        /// This policy, with the values of `defaults` for those that are nil.
        package func merged(withDefaults defaults: Retry) -> Retry {
            var merged = defaults
            merged.attempts = self.attempts ?? defaults.attempts
            merged.base = self.base ?? defaults.base
            merged.cap = self.cap ?? defaults.cap
            merged.maxElapsed = self.maxElapsed ?? defaults.maxElapsed
            merged.statuses = self.statuses ?? defaults.statuses
            return merged
        }
    }

    /// The `budget` section: the retry budget of an origin.
    package struct Budget: Sendable, Hashable {
        package var tokens: Double?
        package var retryCost: Double?
        package var connectCost: Double?
        package var refillPerSecond: Double?
    }

    /// The `journal` section: retention times, and how many tasks there may be.
    package struct Journal: Sendable, Hashable {
        package var keepCompleted: Duration?
        package var pathEvents: Duration?
        /// How many tasks may be open at a time; more submissions are refused.
        package var maxOpenTasks = 100_000
    }

    /// The `control` section: what members of the control socket's group may do.
    package struct Control: Sendable, Hashable {
        /// The directories below which their tasks may read and write files.
        package var directories: [String] = []
    }

    /// The `gate` section: the default gate of tasks.
    package struct Gate: Sendable, Hashable {
        package var require: [Requirement]?
        package var patience: DurationText?
    }

    /// The `remote_write` section: the receiver of samples.
    package struct RemoteWrite: Sendable, Hashable {
        /// The receiver; nil disables remote write.
        package var url: String?
        package var buffer: ByteText?
        package var interval: Duration?
        package var labels: [Label] = []
        package var headers: [HTTPField] = []
        package var user: String?
        package var passwordFile: String?
        package var tokenFile: String?
        package var certificateFile: String?

        /// A label added to every series.
        package struct Label: Sendable, Hashable {
            package var name: String
            package var value: String
        }
    }

    /// The `events` section: the size of the history, and what is redacted from URLs.
    package struct Events: Sendable, Hashable {
        package var history: Int?
        package var redaction = URLRedaction()
    }

    /// The `observation` section: how the connections of other programs are observed.
    package struct Observation: Sendable, Hashable {
        package var connections = true
        package var connectingInterval: Duration?
        package var establishedInterval: Duration?
        package var loopback = false
        package var exclude = Exclusions()
        package var maxTracked: Int?
        package var receiveBuffer: ByteText?
    }

    /// The `exclude` section of ``Observation``: connections that do not count.
    package struct Exclusions: Sendable, Hashable {
        package var remotes: [IPPrefix] = []
        package var ports: [UInt16] = []
    }

    /// The `metrics` section: whether series have a host label.
    package struct Metrics: Sendable, Hashable {
        package var mode = Mode.off
        /// The hosts as in URLs: in lower case, or the canonical text of an address.
        package var hosts: [String] = []
        package var maxHosts = 50

        /// The values of `host_label`.
        package enum Mode: String, Sendable, CaseIterable {
            case off, allowlist, top
        }

        /// The host label of the monitor's metrics.
        package var hostLabel: HostLabel {
            switch self.mode {
            case .off: .off
            case .allowlist: .allowlist(Set(self.hosts))
            case .top: .top(limit: self.maxHosts)
            }
        }
    }
}

extension Configuration {
    /// Reads the configuration from a file.
    ///
    /// - Throws: ``ConfigurationError`` with the file and, for every problem, the line and the key.
    package static func load(file: String) throws(ConfigurationError) -> Configuration {
        let text: String
        do {
            text = try TextFile.read(file, atMost: 1 << 20)
        } catch {
            throw ConfigurationError(file: file, error.description)
        }
        return try Configuration.parse(text, file: file)
    }

    /// Reads the configuration from the text of a file; `file` is its name in messages.
    package static func parse(_ text: String, file: String) throws(ConfigurationError) -> Configuration {
        guard let root = try YAMLFile.parse(text, file: file) else { return Configuration() }
        var problems = ProblemList(file: file)
        var configuration = Configuration()
        problems.read(ConfigurationSchema.root, from: root, into: &configuration)
        problems.refuseOnlineWithoutChecks(configuration, root)
        problems.refuseUnknownModules(configuration, root)
        guard problems.entries.isEmpty else { throw ConfigurationError(problems.entries) }
        do {
            // Finds values that are invalid together, here rather than in Daemon so that a reload finds them too.
            _ = try configuration.monitorConfiguration(version: "")
        } catch {
            throw ConfigurationError(file: file, error.description)
        }
        return configuration
    }
}

extension ProblemList {
    // A gate that nothing can open would hold a task until its patience ends.
    fileprivate mutating func refuseOnlineWithoutChecks(_ configuration: Configuration, _ root: ConfigurationNode) {
        guard !configuration.reachability.internetCheck.isEnabled else { return }
        let gate = root.value(of: "transfers")?.value(of: "gate")?.value(of: "require")
        let tasks = root.value(of: "tasks")?.elements.compactMap { $0.value(of: "require") } ?? []
        for element in ([gate].compactMap(\.self) + tasks).flatMap(\.elements) {
            guard case .scalar("online") = element.content else { continue }
            self.add("\"online\" requires reachability.internet_check to be enabled", at: element)
        }
    }
}

extension ProblemList {
    // Only here: the modules may stand behind the probes.
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
    /// The request, as it could be submitted.
    package var submission = TaskSubmission(url: "")
    package var headersFile: String?
    package var every: Duration = .zero
    /// The maximum random delay of a run, as a fraction of ``every``.
    package var jitter = 0.1
    package var timeout: DurationText?
    package var retry = Configuration.Retry()

    package var name: String {
        get { self.submission.name ?? "" }
        set { self.submission.name = newValue }
    }

    package init() {}
}

extension Configuration {
    /// The files with passwords, tokens or header fields that requests need.
    var secretFiles: [String] {
        [self.remoteWrite.passwordFile, self.remoteWrite.tokenFile].compactMap(\.self)
            + self.tasks.compactMap(\.headersFile)
    }
}
