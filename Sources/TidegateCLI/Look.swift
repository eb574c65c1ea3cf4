internal import Tidegate

/// A look at the kernel without a daemon.
struct Look: Sendable {
    let bus: EventBus
    let monitor: ReachabilityMonitor
    let resolver: any NameResolver
    let time: any TimeSource

    /// How long names may take until a status is shown without them.
    static let patience: Duration = .seconds(5)

    /// Starts watching the network and these targets.
    init(at targets: [Target]) {
        let time = SystemClock()
        let bus = EventBus(time: time)
        let resolver = Monitor.systemResolver(time: time)
        self.bus = bus
        self.resolver = resolver
        self.time = time
        self.monitor = ReachabilityMonitor(Look.configuration(targets), bus: bus, resolver: resolver, time: time)
    }

    /// One look, without watching.
    static func once(at targets: [Target]) async -> ReachabilityStatus {
        let time = SystemClock()
        return await ReachabilityMonitor.evaluateOnce(
            self.configuration(targets), resolver: Monitor.systemResolver(time: time), time: time,
            within: self.patience)
    }

    /// Why the kernel cannot be read; nil while it can.
    static func blindness() -> String? { Look(at: []).monitor.unavailableReason }

    /// The first status, and the moment up to which everything is in it.
    func firstStatus() async -> (ReachabilityStatus, MonotonicTime) {
        _ = await self.monitor.firstStatus(within: Look.patience)
        let moment = self.time.monotonic()
        return (self.monitor.status, moment)
    }

    /// What climbs the ladder by this look; the internet rung asks `internetCheck`'s URLs, and certificates are judged by
    /// the authorities of `caFile`, or by the system's.
    func climber(_ internetCheck: InternetCheckPolicy = .off, trusting caFile: String? = nil) -> PathDiagnostics {
        PathDiagnostics(
            monitor: self.monitor, resolver: self.resolver, web: Monitor.httpChecker(trusting: caFile),
            internetCheck: internetCheck, time: self.time)
    }

    private static func configuration(_ targets: [Target]) -> ReachabilityConfiguration {
        var configuration = ReachabilityConfiguration()
        configuration.targets = targets
        return configuration
    }
}
