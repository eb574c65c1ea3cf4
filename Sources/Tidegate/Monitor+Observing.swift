public import CoreMetrics
public import FoundationEssentials
public import TidegateCore
public import TidegateMetrics
public import TidegateReachability

// What an app asks a monitor about the network.
extension Monitor {
    /// The path to a target: first its present state, then every change.
    ///
    /// The target is watched for as long as the loop runs. Of changes that arrive faster than they are read, the newest
    /// is kept. Ends when its Swift task is cancelled.
    public func paths(to target: Target) -> PathUpdates { self.reachability.paths(to: target) }

    /// As ``paths(to:)-(Target)``, for `HOST`, `HOST:PORT`, `ADDRESS` or `[IPV6]:PORT`.
    ///
    /// - Throws: ``TargetError``, which quotes the part that is wrong.
    public func paths(to text: String) throws(TargetError) -> PathUpdates { self.paths(to: try Target(text)) }

    /// Waits until every condition holds, without a break for `stable`.
    ///
    /// Conditions that the kernel's state does not decide (`gateway`, `dns`, `internet`, and hosts with a check) are
    /// checked when paths change, and otherwise after intervals of 1 to 10 seconds.
    /// - Parameter timeout: How long to wait; nil for as long as it takes.
    /// - Throws: ``WaitError`` after `timeout`, with the first condition that does not hold and the rung that it fails
    ///   on, or when the Swift task is cancelled. It is not ``TaskError``, because no request has failed.
    public func wait(
        for conditions: WaitCondition..., stable: Duration = .zero, timeout: Duration? = nil
    ) async throws(WaitError) {
        try await self.diagnostics.wait(for: WaitConfiguration(conditions, stable: stable, timeout: timeout))
    }

    /// Finds where the path to a host, a port or a URL fails, rung by rung, as `tidegate explain` shows it.
    ///
    /// Sends a few packets: a byte to the gateway, a query to each resolver, one request to the target. What is not
    /// known after `timeout` stays unknown.
    package func diagnose(_ target: ExplainTarget, timeout: Duration = .seconds(10)) async -> Explanation {
        await self.diagnostics.diagnose(target, within: timeout)
    }

    /// Finds where the path to a host, a host with a port, or an http or https URL fails, rung by rung, as `tidegate
    /// explain` shows it.
    ///
    /// Sends a few packets: a byte to the gateway, a query to each resolver, one request to the target. What is not
    /// known after `timeout` stays unknown.
    ///
    /// - Throws: ``TargetError``, which quotes the part that is wrong.
    public func diagnose(
        _ text: String, timeout: Duration = .seconds(10)
    ) async throws(TargetError) -> Explanation {
        await self.diagnose(try ExplainTarget(text), timeout: timeout)
    }

    /// As ``diagnose(_:timeout:)-(String,_)``, for an http or https URL.
    public func diagnose(_ url: URL, timeout: Duration = .seconds(10)) async throws(TargetError) -> Explanation {
        try await self.diagnose(url.absoluteString, timeout: timeout)
    }

    /// Every event of this monitor from now on, for one reader.
    ///
    /// The newest `capacity` events are kept for a slow reader; ``Subscription/dropped`` counts the others. Ends when
    /// its Swift task is cancelled.
    public func events(bufferingNewest capacity: Int = 256) -> Subscription {
        self.bus.subscribe(.library, bufferingNewest: capacity)
    }

    /// The TCP connections of other programs of this machine.
    public var connections: ObservedConnections { ObservedConnections(observer: self.observer, bus: self.bus) }

    /// What an endpoint of `TidegateServer` needs to serve this monitor.
    public var endpointDependencies: EndpointDependencies {
        EndpointDependencies(
            view: self, bus: self.bus, recorder: self.recorder, time: self.time,
            targetNames: self.configuration.namesOfTargets, version: TidegateVersion.version)
    }

    /// What this monitor and the program measure.
    public var metrics: MonitorMetrics { MonitorMetrics(monitor: self) }
}

/// The metrics of one ``Monitor``.
public struct MonitorMetrics: Sendable {
    let monitor: Monitor

    /// The exposition that `/metrics` would serve now.
    ///
    /// It has the process's own figures, and of the targets only those of the configuration.
    public func exposition(for format: ExpositionFormat = .openMetrics) -> String {
        String(decoding: self.encodedExposition(for: format), as: UTF8.self)
    }

    /// As ``exposition(for:)``, in bytes, which the protobuf format needs.
    public func encodedExposition(for format: ExpositionFormat) -> [UInt8] {
        let monitor = self.monitor
        let inputs = ScrapeInputs(
            of: monitor, bus: monitor.bus, time: monitor.time, targetNames: monitor.configuration.namesOfTargets)
        return monitor.recorder.exposition(of: inputs, in: format)
    }

    /// A factory for swift-metrics, so that what the program itself measures appears in the same exposition.
    ///
    /// It never traps. A metric that clashes with another in name or kind gets a handler that does nothing; `onConflict`
    /// is called once for each such name, with a sentence without a final full stop.
    public func factory(onConflict: @escaping @Sendable (String) -> Void = { _ in }) -> any MetricsFactory {
        self.monitor.recorder.adapter(onConflict: onConflict)
    }
}
