internal import TidegateCore

extension PathDiagnostics {
    // How long names may take to resolve before the conditions are first evaluated.
    private static let resolveTimeout = Duration.seconds(5)
    private static let checkTimeout = Duration.seconds(5)

    /// Waits until the conditions hold.
    ///
    /// Conditions that need packets, such as `dns` or a host with a check, are checked when paths change, and otherwise
    /// after intervals of 1 to 10 seconds.
    /// - Parameter onProgress: Called after every evaluation that has a result, at least four times a second.
    /// - Throws: ``WaitError`` when time is up or the Swift task is cancelled.
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
        // A single evaluation waits for its names; otherwise they may be resolved during the wait.
        let named = configuration.isSingle ? await self.resolvable(configuration.targets) : []
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
    private func resolvable(_ targets: [Target]) async -> Set<Target> {
        let diagnosis = PathDiagnosis(self, within: PathDiagnostics.resolveTimeout)
        let resolved = await targets.filter { $0.address == nil }.concurrentMap { target -> Target? in
            if case .success? = await diagnosis.resolve(target) { target } else { nil }
        }
        return Set(resolved.compactMap(\.self))
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

    /// Checks a condition once, if the kernel's state alone cannot decide it; pending if the check has no path.
    private func evidence(
        for condition: WaitCondition, _ family: AddressFamily?, in status: ReachabilityStatus
    ) async -> ConditionEvidence {
        let families = status.families.filter { $0.verdict.level >= .routed }.map(\.family)
            .filter { family == nil || $0 == family }
        let checks = HostChecks(diagnostics: self, family: family, limit: PathDiagnostics.checkTimeout)
        switch condition {
        case .carrier, .address, .route, .host(_, nil): return .pending
        case .gateway: return .rungs(await families.concurrentMap { await self.gateway($0) })
        case .internet: return .rungs(await families.concurrentMap { await self.internet($0) })
        // A resolver on this host may answer even without a route; the check considers routes first.
        case .dns: return .rungs([await self.dns(family)])
        case .name(let name): return await checks.resolve((try? Target(name).host) ?? name)
        case .host(let target, let check?):
            guard self.isRouted(target, family, in: status) else { return .pending }
            return await checks.host(target, check)
        case .url(let url):
            guard self.isRouted(url.location.target, family, in: status) else { return .pending }
            return await checks.check(url.location, .body)
        }
    }

    private func isRouted(_ target: Target, _ family: AddressFamily?, in status: ReachabilityStatus) -> Bool {
        let addresses = status.targets.first { $0.target == target }?.addresses ?? []
        return addresses.contains { $0.verdict.level >= .routed && (family == nil || $0.address.family == family) }
    }
}

/// Wakes a wait when the status may have changed: at every change of a link or path, and four times a second.
///
/// One wake-up may cover several changes. The stream ends when the monitor stops.
final class WakeSource: Sendable {
    // Checks have intervals of their own, and a stable time ends without an event.
    private static let interval = Duration.milliseconds(250)

    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let monitor: ReachabilityMonitor
    private let watches: [PathWatch]
    private let events: Task<Void, Never>

    /// Creates the source; its watches keep the verdicts on unconfigured targets up to date.
    init(_ monitor: ReachabilityMonitor, targets: Set<Target>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.stream = stream
        self.continuation = continuation
        self.monitor = monitor
        self.watches = targets.map { monitor.watch($0) { _ in continuation.yield() } }
        let changes = monitor.bus.subscribe(.library) { event in
            switch event.payload {
            case .path, .link: true
            case .diagnosis, .targetCheck, .quality, .uplink, .netlink, .task, .session, .probe, .connection,
                .incident, .daemon:
                false
            }
        }
        self.events = Task { for await _ in changes { continuation.yield() } }
    }

    /// Wakes immediately and then four times a second.
    func tick() {
        if case .terminated = self.continuation.yield() { return }
        guard !self.monitor.call(after: WakeSource.interval, { self.tick() }) else { return }
        self.continuation.finish()
    }

    func wake() { self.continuation.yield() }

    func stop() {
        self.continuation.finish()
        self.events.cancel()
        for watch in self.watches { watch.cancel() }
    }
}

/// Decides when something has held long enough without a break.
struct StableWait: Sendable {
    /// The state after an observation.
    enum State: Sendable, Hashable {
        /// It has held for the required time.
        case done
        /// It holds; it must be observed again by then.
        case holdingUntil(MonotonicTime)
        /// It does not hold.
        case unmet
    }

    let required: Duration
    private(set) var since: MonotonicTime?

    /// Records whether it holds at `now`.
    mutating func observe(_ holds: Bool, at now: MonotonicTime) -> State {
        guard holds else {
            self.since = nil
            return .unmet
        }
        let start = self.since ?? now
        self.since = start
        return now - start >= self.required ? .done : .holdingUntil(start + self.required)
    }

    /// How long it has held without a break; zero if it does not hold.
    func held(at now: MonotonicTime) -> Duration { self.since.map { now - $0 } ?? .zero }
}
