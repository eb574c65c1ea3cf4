internal import TidegateCore

extension PathDiagnostics {
    // Names are given this long to be resolved before the conditions are evaluated for the first time.
    private static let resolveTimeout = Duration.seconds(5)
    private static let checkTimeout = Duration.seconds(5)

    /// Waits until the conditions hold.
    ///
    /// Conditions that need packets, such as `dns` or a host with a check, are checked when paths change, and otherwise
    /// after intervals of 1 to 10 seconds.
    /// - Parameter onProgress: Called after every evaluation that has a result, at least four times a second.
    /// - Throws: ``WaitError`` when the time is over, or when the Swift task is cancelled.
    package func wait(
        for configuration: WaitConfiguration, onProgress: (WaitProgress) -> Void = { _ in }
    ) async throws(WaitError) {
        let start = self.time.monotonic()
        let targets = Set(configuration.targets)
        let wakes = WakeSource(self.monitor, targets: targets)
        defer { wakes.stop() }
        let poller = ConditionPoller(
            configuration.conditions, check: { await self.evidence(for: $0, configuration.family, in: $1) },
            onResult: wakes.wake)
        let timeout = configuration.isSingle ? nil : configuration.timeout
        _ = await self.monitor.firstStatus(
            within: min(timeout ?? PathDiagnostics.resolveTimeout, PathDiagnostics.resolveTimeout))
        // What is asked once is asked with its names resolved; otherwise they may be resolved while the wait goes on.
        let named = configuration.isSingle ? await self.resolvable(targets) : []
        wakes.tick()
        var wait = StableWait(required: configuration.isSingle ? .zero : configuration.stable)
        var (last, isFirst) = (UnmetCondition?.none, true)
        for await _ in wakes.stream {
            let (status, now) = (self.monitor.status(including: targets), self.time.monotonic())
            if named.contains(where: { self.hasNoAddress($0, in: status) }),
                now - start < PathDiagnostics.resolveTimeout
            {
                continue
            }
            let isOver = configuration.timeout.map { now - start >= $0 } ?? false
            if !isOver || configuration.isSingle && isFirst { poller.pollAll(status, at: now) }
            isFirst = false
            let unmet = self.unmet(configuration, in: status, poller)
            if wait.observe(unmet == nil, at: now) == .done { return }
            if isOver, !configuration.isSingle || !poller.isChecking { throw .timedOut(unmet) }
            // Nothing is reported before the first result.
            if let unmet, unmet.reason == nil, poller.isChecking { continue }
            if !isOver {
                onProgress(
                    WaitProgress(
                        elapsed: now - start, unmet: unmet, hasNewRung: unmet.map { $0.rung != last?.rung } ?? false,
                        held: wait.held(at: now)))
            }
            last = unmet
        }
        // The stream also ends with the monitor: then nothing will change any more.
        throw Task.isCancelled ? .cancelled : .timedOut(last)
    }

    /// The targets whose names have addresses.
    private func resolvable(_ targets: Set<Target>) async -> Set<Target> {
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.resolveTimeout)
        return await withTaskGroup(of: Target?.self) { group in
            for target in targets where target.address == nil {
                group.addTask {
                    guard case .success? = await diagnosis.resolve(target) else { return nil }
                    return target
                }
            }
            return await group.reduce(into: []) { if let target = $1 { $0.insert(target) } }
        }
    }

    private func hasNoAddress(_ target: Target, in status: ReachabilityStatus) -> Bool {
        status.targets.first { $0.target == target }?.addresses.isEmpty ?? true
    }

    /// The first condition that does not hold; nil if enough of them do.
    private func unmet(
        _ configuration: WaitConfiguration, in status: ReachabilityStatus, _ poller: ConditionPoller
    ) -> UnmetCondition? {
        var first: UnmetCondition?
        for condition in configuration.conditions {
            let evidence = poller.evidence(for: condition, in: status)
            let outcome = condition.evaluate(status, family: configuration.family, evidence: evidence)
            switch outcome {
            case .satisfied:
                if configuration.isAnyEnough { return nil }
            case .unsatisfied(let rung, let reason, var message):
                if rung == .monitor, let error = self.monitor.unavailableReason { message += ": \(error)" }
                first = first ?? UnmetCondition(condition: condition, rung: rung, reason: reason, message: message)
                if !configuration.isAnyEnough { return first }
            }
        }
        return first
    }

    /// Checks a condition once, if the kernel's state alone cannot decide it; pending if there is no path for the check.
    private func evidence(
        for condition: WaitCondition, _ family: AddressFamily?, in status: ReachabilityStatus
    ) async -> ConditionEvidence {
        let families = status.families.filter { $0.verdict.level >= .routed }.map(\.family)
            .filter { family == nil || $0 == family }
        let checks = HostChecks(diagnostics: self, family: family, limit: PathDiagnostics.checkTimeout)
        switch condition {
        case .carrier, .address, .route, .host(_, nil): return .pending
        case .gateway: return await self.reports(families) { await self.gateway($0) }
        case .internet: return await self.reports(families) { await self.internet($0) }
        // Even without a route a resolver on this host may answer; the check considers routes first.
        case .dns: return .rungs([await self.dns(family)])
        case .name(let name): return .host(await checks.resolve((try? Target(name).host) ?? name))
        case .host(let target, let check?):
            guard self.isRouted(target, family, in: status) else { return .pending }
            return .host(await checks.host(target, check))
        case .url(let url):
            guard self.isRouted(url.location.target, family, in: status) else { return .pending }
            return .host(await checks.request(url.location))
        }
    }

    private func isRouted(_ target: Target, _ family: AddressFamily?, in status: ReachabilityStatus) -> Bool {
        let addresses = status.targets.first { $0.target == target }?.addresses ?? []
        return addresses.contains { $0.verdict.level >= .routed && (family == nil || $0.address.family == family) }
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
