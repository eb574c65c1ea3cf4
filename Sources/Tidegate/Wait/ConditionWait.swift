internal import TidegateCore
internal import TidegateReachability

/// Waits until conditions hold: evaluates them on every event, and four times a second.
struct ConditionWait: Sendable {
    private static let interval = Duration.milliseconds(250)

    let reachability: ReachabilityMonitor
    let checker: ConditionChecker
    let bus: EventBus
    let time: any TimeSource

    /// Returns when all conditions have held for `stable`; nil, or a message that names the first unmet condition at
    /// the end of `timeout`.
    func run(_ conditions: [WaitCondition], stable: Duration, timeout: Duration?) async throws(CancellationError)
        -> String?
    {
        let start = self.time.monotonic()
        var hold = StableWait(required: stable)
        var unmet: String?
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        // A condition about a target needs its verdict, which is known only while the target is watched.
        let watches = conditions.compactMap(\.target).map { target in
            self.reachability.watch(target) { _ in continuation.yield() }
        }
        let events = Task {
            for await _ in self.bus.subscribe(.library, bufferingNewest: 1) { continuation.yield() }
        }
        let ticks = Task {
            while (try? await Task.sleep(for: ConditionWait.interval)) != nil { continuation.yield() }
        }
        defer {
            for task in [events, ticks] { task.cancel() }
            for watch in watches { watch.cancel() }
            continuation.finish()
        }
        let poller = ConditionPoller(conditions, check: self.checker.check) { continuation.yield() }
        for await _ in wakes {
            let status = self.status(with: conditions)
            let now = self.time.monotonic()
            poller.pollAll(status, at: now)
            unmet = self.unmetCondition(conditions, in: status, poller)
            if hold.observe(unmet == nil, at: now) == .done { return nil }
            guard let timeout, now - start >= timeout else { continue }
            return unmet ?? "the conditions did not hold for \(stable)"
        }
        throw CancellationError()
    }

    /// The status with the verdicts of the conditions' targets, configured or not.
    private func status(with conditions: [WaitCondition]) -> ReachabilityStatus {
        var status = self.reachability.status
        for target in conditions.compactMap(\.target) where !status.targets.contains(where: { $0.target == target }) {
            status.targets.append(self.reachability.current(target))
        }
        return status
    }

    private func unmetCondition(
        _ conditions: [WaitCondition], in status: ReachabilityStatus, _ poller: ConditionPoller
    ) -> String? {
        for condition in conditions {
            let evidence = poller.evidence(for: condition, in: status)
            switch condition.evaluate(status, family: self.checker.family, evidence: evidence) {
            case .satisfied: continue
            case .unsatisfied(let rung, _, let message): return "\(rung.rawValue): \(message)"
            }
        }
        return nil
    }
}
