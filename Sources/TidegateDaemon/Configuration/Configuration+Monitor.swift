internal import Synchronization
internal import Tidegate
internal import TidegateProbes
internal import TidegateServer

extension Configuration {
    /// The monitor's configuration, with the defaults for keys that are absent.
    ///
    /// - Throws: ``TextError`` with the message of the policy that rejects a value.
    func monitorConfiguration(version: String) throws(TextError) -> MonitorConfiguration {
        var configuration = MonitorConfiguration(
            reachability: self.reachability, session: self.sessionConfiguration(version: version),
            hostLabel: self.metrics.hostLabel)
        if !self.reachability.internetCheck.isEnabled { configuration.reachability.internetCheck = .off }
        for entry in self.targets {
            guard let target = entry.target else { continue }
            configuration.reachability.targets.append(target)
            configuration.reachability.targetChecks[target] = entry.targetCheck(of: target)
            configuration.targetNames[target] = configuration.targetNames[target] ?? entry.name
        }
        configuration.diagnosesHost = true
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
        return configuration
    }

    /// Sets what the configuration file says about the endpoint.
    func apply(to endpoint: inout EndpointConfiguration) {
        endpoint.redaction = self.events.redaction
        endpoint.eventHistory = self.events.history
    }
}

extension Configuration.NamedTarget {
    /// How the target is checked: by what the file says, or by what it is.
    fileprivate func targetCheck(of target: Target) -> TargetCheck {
        let location = self.url.flatMap { try? HTTPURL($0) }
        let standard = location == nil ? TargetCheck.standard(for: target).kind : .http
        var check = TargetCheck(self.check ?? standard, interval: self.interval, timeout: self.timeout)
        check.location = location
        return check
    }
}

extension Configuration {
    /// The keys that are only read at the start: the monitor is configured when it is created, and open connections and
    /// watches keep the old values.
    private static let keysReadAtStart: [(key: String, path: any PartialKeyPath<Configuration> & Sendable)] = [
        ("reachability.interfaces", \.reachability.excludedInterfaces),
        ("reachability.sentinels", \.reachability.sentinels), ("reachability.targets", \.targets),
        ("reachability.metered", \.reachability.meteredInterfaces),
        ("reachability.internet_check", \.reachability.internetCheck),
        ("reachability.mark", \.reachability.mark), ("reachability.uid", \.reachability.uid),
        ("transfers.max_connections_per_host", \.transfers.session.maxConnectionsPerHost),
        ("transfers.max_connections", \.transfers.session.maxConnections),
        ("transfers.max_filesize", \.transfers.session.maxBodyBytes), ("transfers.proxy", \.transfers.session.proxy),
        ("transfers.tls", \.transfers.session.tls), ("transfers.redirects", \.transfers.session.redirects),
        ("transfers.tracing", \.transfers.session.startsTraces), ("transfers.budget", \.transfers.session.budget),
        ("journal", \.journal), ("control", \.control), ("remote_write", \.remoteWrite), ("events", \.events),
        ("metrics", \.metrics), ("probe_body_budget", \.probes.bodyBudget), ("observation", \.observation),
    ]

    /// The keys whose values differ from `running`, and that need a restart.
    func keysThatNeedRestart(from running: Configuration) -> [String] {
        Self.keysReadAtStart.filter { _, path in
            self[keyPath: path] as? AnyHashable != running[keyPath: path] as? AnyHashable
        }.map(\.key)
    }
}

extension ProxyPolicy {
    /// One proxy for http and https URLs.
    var both: String? {
        get { self.http }
        set { (self.http, self.https) = (newValue, newValue) }
    }
}

/// What the configuration file says now about tasks that say nothing of it themselves.
final class TransferPolicies: Sendable {
    private let started: Configuration.Transfers
    private let current: Mutex<Configuration.Transfers>

    /// What the file said when the session was made.
    init(_ transfers: Configuration.Transfers) {
        self.started = transfers
        self.current = Mutex(transfers)
    }

    /// What the file says.
    var transfers: Configuration.Transfers { self.current.withLock { $0 } }

    /// Sets the retry policy and the gate of later tasks.
    func update(_ transfers: Configuration.Transfers) { self.current.withLock { $0 = transfers } }

    /// Gives a request what a reload has changed: the session has what the file said at the start.
    func apply(to request: inout TaskRequest) {
        let transfers = self.transfers
        if request.options.retry == nil, transfers.retry != self.started.retry {
            request.options.retry = transfers.retry.policy()
        }
        let (gate, former) = (transfers.session.gate, self.started.session.gate)
        if request.options.gate == nil, gate != former { request.options.gate = gate }
    }
}
