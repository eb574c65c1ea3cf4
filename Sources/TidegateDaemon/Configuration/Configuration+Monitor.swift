internal import Tidegate
internal import TidegateCore
internal import TidegateProbes
internal import TidegateServer

extension Configuration {
    /// The monitor's configuration, with the defaults for keys that are absent.
    ///
    /// - Throws: ``TextError`` with the message of the policy that rejects a value.
    func monitorConfiguration(version: String) throws(TextError) -> MonitorConfiguration {
        let named = self.reachability.targets.compactMap { entry in entry.target.map { ($0, entry.name) } }
        do {
            var configuration = MonitorConfiguration(
                reachability: try self.reachabilityConfiguration(targets: named.map(\.0)),
                session: self.sessionConfiguration(version: version),
                targetNames: Dictionary(named, uniquingKeysWith: { first, _ in first }),
                hostLabel: self.metrics.hostLabel)
            configuration.diagnosesHost = true
            self.observation.apply(to: &configuration)
            try configuration.validate()
            return configuration
        } catch {
            throw TextError("\(error)")
        }
    }

    private func reachabilityConfiguration(
        targets: [Target]
    ) throws(ConfigurationValueError) -> ReachabilityConfiguration {
        var sentinels = ReachabilityConfiguration.defaultSentinels
        if let addresses = self.reachability.ipv4Sentinels { sentinels[.ipv4] = addresses }
        if let addresses = self.reachability.ipv6Sentinels { sentinels[.ipv6] = addresses }
        var configuration = ReachabilityConfiguration(
            sentinels: sentinels, targets: targets,
            excludedInterfaces: self.reachability.excludedInterfaces
                ?? ReachabilityConfiguration.defaultExcludedInterfaces,
            meteredInterfaces: self.reachability.meteredInterfaces ?? [],
            internetCheck: try self.reachability.internetCheck.policy())
        for entry in self.reachability.targets {
            if let target = entry.target { configuration.targetChecks[target] = entry.targetCheck(of: target) }
        }
        configuration.mark = self.reachability.mark
        configuration.uid = self.reachability.uid
        return configuration
    }
}

extension Configuration.Observation {
    /// Sets what the configuration file says about connections.
    fileprivate func apply(to configuration: inout MonitorConfiguration) {
        configuration.connections.isEnabled = self.connections
        if let interval = self.connectingInterval { configuration.connections.connectingInterval = interval }
        if let interval = self.establishedInterval { configuration.connections.establishedInterval = interval }
        configuration.connections.includesLoopback = self.loopback
        configuration.connections.excludedRemotes = self.exclude.remotes
        configuration.connections.excludedPorts = Set(self.exclude.ports)
        if let count = self.maxTracked { configuration.connections.maxTracked = count }
        if let size = self.receiveBuffer { configuration.connections.receiveBufferBytes = Int(size.bytes) }
    }
}

extension Configuration.NamedTarget {
    /// How the target is checked: by what the file says, or by what it is.
    func targetCheck(of target: Target) -> TargetCheck {
        let location = self.url.flatMap { try? HTTPURL($0) }
        let standard = location == nil ? TargetCheck.standard(for: target) : TargetCheck(.http)
        return TargetCheck(
            self.check ?? standard.kind, location: location, interval: self.interval ?? standard.interval,
            timeout: self.timeout ?? standard.timeout)
    }
}

extension Configuration.InternetCheck {
    fileprivate func policy() throws(ConfigurationValueError) -> InternetCheckPolicy {
        guard self.isEnabled else { return .off }
        var urls: [InternetCheckURL] = []
        for text in self.urls { urls.append(try InternetCheckURL(text)) }
        guard let interval = self.interval else { return InternetCheckPolicy(urls: urls) }
        return InternetCheckPolicy(urls: urls, interval: interval)
    }
}

extension Configuration {
    /// Sets what the configuration file says about the endpoint.
    func apply(to endpoint: inout EndpointConfiguration) {
        endpoint.redaction = self.events.redaction
        if let history = self.events.history { endpoint.eventHistory = history }
    }

    func sessionConfiguration(version: String) -> SessionConfiguration {
        let (standard, transfers) = (SessionConfiguration(), self.transfers)
        var configuration = SessionConfiguration(
            maxConnectionsPerHost: transfers.connectionsPerHost ?? standard.maxConnectionsPerHost,
            maxConnections: transfers.connections ?? standard.maxConnections, proxy: transfers.proxy,
            tls: transfers.tls, retry: transfers.retry.policy(),
            budget: transfers.budget.policy(),
            gate: transfers.gate.policy(),
            userAgent: "tidegate/\(version)", waitsOut: true, redaction: self.events.redaction,
            redirects: transfers.redirects ?? standard.redirects,
            maxBodyBytes: transfers.maxFilesize.map { Int($0.bytes) })
        configuration.startsTraces = transfers.tracing ?? standard.startsTraces
        configuration.reportsRetryTokens = self.metrics.mode != .off
        configuration.recordsExchanges = true
        return configuration
    }
}

extension Configuration.Budget {
    fileprivate func policy() -> RetryBudgetPolicy {
        let standard = RetryBudgetPolicy()
        return RetryBudgetPolicy(
            tokens: self.tokens ?? standard.tokens, retryCost: self.retryCost ?? standard.retryCost,
            connectCost: self.connectCost ?? standard.connectCost,
            refillPerSecond: self.refillPerSecond ?? standard.refillPerSecond)
    }
}

extension Configuration {
    /// The keys whose values differ from `running`, and that are only read at the start: the monitor is configured when
    /// it is created, and open connections and watches keep the old values.
    func keysThatNeedRestart(from running: Configuration) -> [String] {
        let (new, old) = (self.reachability, running.reachability)
        let (sent, before) = (self.transfers, running.transfers)
        let changes: [(key: String, isChanged: Bool)] = [
            ("reachability.interfaces", new.excludedInterfaces != old.excludedInterfaces),
            (
                "reachability.sentinels",
                (new.ipv4Sentinels, new.ipv6Sentinels) != (old.ipv4Sentinels, old.ipv6Sentinels)
            ),
            ("reachability.targets", new.targets != old.targets),
            ("reachability.metered", new.meteredInterfaces != old.meteredInterfaces),
            ("reachability.internet_check", new.internetCheck != old.internetCheck),
            ("reachability.mark", new.mark != old.mark), ("reachability.uid", new.uid != old.uid),
            ("transfers.max_connections_per_host", sent.connectionsPerHost != before.connectionsPerHost),
            ("transfers.max_connections", sent.connections != before.connections),
            ("transfers.max_filesize", sent.maxFilesize != before.maxFilesize),
            ("transfers.proxy", sent.proxy != before.proxy),
            ("transfers.tls", sent.tls != before.tls),
            ("transfers.redirects", sent.redirects != before.redirects),
            ("transfers.tracing", sent.tracing != before.tracing),
            ("transfers.budget", sent.budget != before.budget), ("journal", self.journal != running.journal),
            ("control", self.control != running.control),
            ("remote_write", self.remoteWrite != running.remoteWrite), ("events", self.events != running.events),
            ("metrics", self.metrics != running.metrics),
            ("probe_body_budget", self.probes.bodyBudget != running.probes.bodyBudget),
            ("observation", self.observation != running.observation),
        ]
        return changes.filter(\.isChanged).map(\.key)
    }
}
