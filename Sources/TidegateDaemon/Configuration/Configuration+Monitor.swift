internal import Tidegate
internal import TidegateCore
internal import TidegateServer

extension Configuration {
    /// The monitor's configuration, with the defaults for keys that are absent.
    ///
    /// - Throws: ``TextError`` with the message of the policy that rejects a value.
    func monitorConfiguration(version: String) throws(TextError) -> MonitorConfiguration {
        let named = self.reachability.targets.compactMap { entry in entry.target.map { ($0, entry.name) } }
        do {
            return MonitorConfiguration(
                reachability: try self.reachabilityConfiguration(targets: named.map(\.0)),
                session: try self.sessionConfiguration(version: version),
                targetNames: Dictionary(named, uniquingKeysWith: { first, _ in first }),
                hostLabel: self.metrics.hostLabel)
        } catch {
            throw TextError("\(error)")
        }
    }

    private func reachabilityConfiguration(
        targets: [Target]
    ) throws(ReachabilityConfigurationError) -> ReachabilityConfiguration {
        var sentinels = ReachabilityConfiguration.defaultSentinels
        if let addresses = self.reachability.ipv4Sentinels { sentinels[.ipv4] = addresses }
        if let addresses = self.reachability.ipv6Sentinels { sentinels[.ipv6] = addresses }
        var configuration = try ReachabilityConfiguration(
            sentinels: sentinels, targets: targets,
            excludedInterfaces: self.reachability.excludedInterfaces
                ?? ReachabilityConfiguration.defaultExcludedInterfaces,
            meteredInterfaces: self.reachability.meteredInterfaces ?? [],
            internetCheck: try self.reachability.internetCheck.policy())
        configuration.mark = self.reachability.mark
        configuration.uid = self.reachability.uid
        return configuration
    }
}

extension Configuration.InternetCheck {
    fileprivate func policy() throws(ReachabilityConfigurationError) -> InternetCheckPolicy {
        guard self.isEnabled else { return .off }
        var urls: [InternetCheckURL] = []
        for text in self.urls { urls.append(try InternetCheckURL(text)) }
        guard let interval = self.interval else { return try InternetCheckPolicy(urls: urls) }
        return try InternetCheckPolicy(urls: urls, interval: interval)
    }
}

extension Configuration {
    /// Sets what the configuration file says about the endpoint.
    func apply(to endpoint: inout EndpointConfiguration) {
        endpoint.redaction = self.events.redaction
        if let history = self.events.history { endpoint.eventHistory = history }
    }

    func sessionConfiguration(version: String) throws(PolicyError) -> SessionConfiguration {
        let (standard, transfers) = (SessionConfiguration.standard, self.transfers)
        return try SessionConfiguration(
            maxConnectionsPerHost: transfers.connectionsPerHost ?? standard.maxConnectionsPerHost,
            maxConnections: transfers.connections ?? standard.maxConnections, proxy: transfers.proxy,
            tls: try TLSPolicy(caFile: transfers.certificateFile), retry: try transfers.retry.policy(),
            budget: try transfers.budget.policy(),
            gate: try GatePolicy(
                require: transfers.gate.require ?? [.routed], patience: transfers.gate.patience?.duration),
            userAgent: "tidegate/\(version)", waitsOut: true, redaction: self.events.redaction,
            reportsRetryTokens: self.metrics.mode != .off)
    }
}

extension Configuration.Budget {
    fileprivate func policy() throws(PolicyError) -> RetryBudgetPolicy {
        let standard = RetryBudgetPolicy.standard
        return try RetryBudgetPolicy(
            tokens: self.tokens ?? standard.tokens, retryCost: self.retryCost ?? standard.retryCost,
            connectCost: self.connectCost ?? standard.connectCost,
            refillPerSecond: self.refillPerSecond ?? standard.refillPerSecond)
    }
}
