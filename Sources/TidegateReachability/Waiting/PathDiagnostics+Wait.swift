public import TidegateCore

extension PathDiagnostics {
    // Names are given this long to be resolved before the conditions are evaluated for the first time.
    private static let resolveTimeout = Duration.seconds(5)
    private static let checkTimeout = Duration.seconds(5)
    // Also without an event: checks are due by their own intervals.
    private static let pollInterval = Duration.milliseconds(250)

    /// Waits until all conditions hold, and have held for `stable` without a break.
    ///
    /// Conditions that need packets, such as `dns` or a host with a check, are checked when paths change, and otherwise
    /// after intervals of 1 to 10 seconds.
    /// - Parameter timeout: How long to wait; nil for as long as it takes.
    /// - Throws: ``WaitError`` when the time is over, or when the Swift task is cancelled.
    public func wait(
        for conditions: WaitCondition..., stable: Duration = .zero, timeout: Duration? = nil
    ) async throws(WaitError) {
        try await self.wait(for: conditions, stable: stable, timeout: timeout)
    }

    /// Waits as ``wait(for:stable:timeout:)-(WaitCondition...,_,_)`` does; over one family only, if one is given.
    public func wait(
        for conditions: [WaitCondition], family: AddressFamily? = nil, stable: Duration = .zero,
        timeout: Duration? = nil
    ) async throws(WaitError) {
        let start = self.time.monotonic()
        let targets = Set(conditions.compactMap(\.target))
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // A watch keeps a target's verdict up to date that is not configured.
        let watches = targets.map { self.monitor.watch($0) { _ in continuation.yield() } }
        let ticker = Ticker(self.monitor, every: PathDiagnostics.pollInterval, continuation)
        ticker.start()
        defer {
            ticker.stop()
            for watch in watches { watch.cancel() }
        }
        let poller = ConditionPoller(
            conditions, check: { await self.evidence(for: $0, family, in: $1) }, onResult: { continuation.yield() })
        let limit = min(timeout ?? PathDiagnostics.resolveTimeout, PathDiagnostics.resolveTimeout)
        _ = await self.monitor.firstStatus(within: limit)
        var wait = StableWait(required: stable)
        var unmet: UnmetCondition?
        for await _ in wakes {
            let (status, now) = (self.monitor.status(including: targets), self.time.monotonic())
            poller.pollAll(status, at: now)
            unmet = self.unmet(conditions, family, in: status, poller)
            if wait.observe(unmet == nil, at: now) == .done { return }
            if let timeout, now - start >= timeout { throw .timedOut(unmet) }
        }
        // Without a monitor that runs, nothing will change any more.
        throw Task.isCancelled ? .cancelled : .timedOut(unmet)
    }

    private func unmet(
        _ conditions: [WaitCondition], _ family: AddressFamily?, in status: ReachabilityStatus,
        _ poller: ConditionPoller
    ) -> UnmetCondition? {
        for condition in conditions {
            let evidence = poller.evidence(for: condition, in: status)
            let outcome = condition.evaluate(status, family: family, evidence: evidence)
            guard case .unsatisfied(let rung, let reason, let sentence) = outcome else { continue }
            return UnmetCondition(condition: condition, rung: rung, reason: reason, message: sentence)
        }
        return nil
    }

    /// Checks a condition once, if the kernel's state alone cannot decide it; pending if there is no path for the check.
    private func evidence(
        for condition: WaitCondition, _ family: AddressFamily?, in status: ReachabilityStatus
    ) async -> ConditionEvidence {
        let families = status.families.filter { $0.verdict.level >= .routed }.map(\.family)
            .filter { family == nil || $0 == family }
        switch condition {
        case .carrier, .address, .route, .host(_, nil): return .pending
        case .gateway: return await self.reports(families) { await self.gateway($0) }
        case .internet: return await self.reports(families) { await self.internet($0) }
        // Even without a route a resolver on this host may answer; the check considers routes first.
        case .dns: return .rungs([await self.dns(family)])
        case .host(let target, let check?):
            let addresses = status.targets.first { $0.target == target }?.addresses ?? []
            let isRouted = addresses.contains {
                $0.verdict.level >= .routed && (family == nil || $0.address.family == family)
            }
            guard isRouted else { return .pending }
            return .host(await self.host(target, check, family: family, within: PathDiagnostics.checkTimeout))
        }
    }

    private func reports(
        _ families: [AddressFamily], _ check: @escaping @Sendable (AddressFamily) async -> RungReport
    ) async -> ConditionEvidence {
        .rungs(
            await withTaskGroup(of: RungReport.self) { group in
                for family in families { group.addTask { await check(family) } }
                return await group.reduce(into: []) { $0.append($1) }
            })
    }
}
