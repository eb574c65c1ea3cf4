internal import Tidegate

/// A reachability monitor for one command: reads the kernel directly, without a daemon.
struct OneShotMonitor: Sendable {
    let bus: EventBus
    let reachability: ReachabilityMonitor
    let resolver: any NameResolver
    let time: any TimeSource = SystemClock()
    let own = Monitor.ownSockets()

    /// How long name resolution may delay the first status.
    static let resolveTimeout: Duration = .seconds(5)

    /// Starts watching the network and `targets`.
    init(targets: [Target]) {
        self.bus = EventBus(time: self.time)
        self.resolver = Monitor.systemResolver(time: self.time)
        let reachability = ReachabilityMonitor(
            ReachabilityConfiguration(targets: targets), bus: self.bus, time: self.time)
        self.reachability = reachability.running(NetlinkThread(reachability, resolver: self.resolver))
    }

    /// The current status, without watching.
    static func status(targets: [Target]) async -> ReachabilityStatus {
        let time = SystemClock()
        return await NetlinkThread.evaluateOnce(
            ReachabilityConfiguration(targets: targets), resolver: Monitor.systemResolver(time: time), time: time,
            within: self.resolveTimeout)
    }

    /// Why the kernel cannot be read; nil while it can.
    static func netlinkError() -> String? { OneShotMonitor(targets: []).reachability.unavailableReason }

    /// The first status, and the time up to which it includes every event.
    func firstStatus() async -> (ReachabilityStatus, MonotonicTime) {
        _ = await self.reachability.firstStatus(within: OneShotMonitor.resolveTimeout)
        let moment = self.time.monotonic()
        return (self.reachability.status, moment)
    }

    /// Diagnostics of the ladder on this monitor.
    ///
    /// The internet rung requests the URLs of `internetCheck`. Certificates are verified against `caFile`, or against
    /// the system's authorities if it is nil.
    func diagnostics(_ internetCheck: InternetCheckPolicy = .off, trusting caFile: String? = nil) -> PathDiagnostics {
        PathDiagnostics(
            monitor: self.reachability, resolver: self.resolver,
            web: Monitor.httpChecker(trusting: caFile, own: self.own),
            internetCheck: internetCheck, time: self.time,
            dependencies: PathDiagnostics.Dependencies(
                time: self.time,
                connections: Monitor.connectionObservation(
                    of: self.reachability, bus: self.bus, own: self.own, time: self.time), own: self.own))
    }
}

/// The result of `work`, or `late` if it takes longer than `limit`.
func value<Value: Sendable>(
    within limit: Duration, orElse late: Value, of work: @escaping @Sendable () async -> Value
) async -> Value {
    await withTaskGroup(of: Value.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await Task.sleep(for: limit)
            return late
        }
        defer { group.cancelAll() }
        return await group.next() ?? late
    }
}
