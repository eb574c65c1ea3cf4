internal import TidegateCore
internal import TidegateLoop
internal import TidegateNetwork

/// Passes kernel changes, timers and commands on the netlink thread to the components that own the state.
final class ReachabilityEngine: LoopHandler {
    private let kernel: NetlinkClient
    private let evaluator: RouteEvaluator
    private let publisher: VerdictPublisher
    let targets: TargetEvaluator
    private let reporter: RouteReporter
    let wayOut: WayOut
    private var throttle = EvaluationThrottle()
    private var timers: EngineTimers
    // When the host's diagnostics are due on the bus's clock, and the same on the kernel's.
    private var diagnosis: (deadline: MonotonicTime, moment: MonotonicTime)?

    init(kernel: NetlinkClient, _ dependencies: Dependencies, store: ReachabilityStore) {
        self.kernel = kernel
        self.evaluator = RouteEvaluator(
            kernel, dependencies.configuration, systemResolvers: dependencies.systemResolvers)
        self.publisher = VerdictPublisher(bus: dependencies.bus, store: store, time: dependencies.time)
        self.targets = TargetEvaluator(dependencies, evaluator: self.evaluator, publisher: self.publisher)
        self.reporter = RouteReporter(kernel: kernel, evaluator: self.evaluator)
        self.wayOut = WayOut(dependencies, publisher: self.publisher)
        self.timers = EngineTimers(kernel.loop)
        self.kernelChanged(kernel.start())
    }

    func stopping() {
        self.timers.releaseAll()
        self.wayOut.stop()
        self.kernel.disconnect()
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        // Handled on this thread: a lost link must shut gates without a queue in between.
        self.kernelChanged(self.kernel.ready(descriptor))
    }

    private func kernelChanged(_ news: NetlinkChanges) {
        defer { self.settle() }
        if news.isDirty { self.evaluator.invalidateSnapshot() }
        self.reporter.record(news.neighbours)
        if news.isStateChanged || !self.publisher.isReady {
            self.evaluate(receivedAt: nil)
        } else if news.isDirty {
            switch self.throttle.schedule(at: self.kernel.now, isLoss: news.isLoss, isStorm: self.kernel.isStorm) {
            case .now: self.evaluate(receivedAt: self.kernel.now)
            case .at(let moment): self.timers.arm(.evaluate, at: moment)
            }
        } else if news.events.contains(where: \.changesHealth) {
            self.updateHealth()
        }
        if news.events.contains(where: { if case .resynced(.resume, _) = $0 { true } else { false } }) {
            // The clock stopped during sleep, and with it every deadline.
            self.targets.resolveAgain()
            self.targets.checks?.checkAll(at: self.kernel.now)
            self.wayOut.internet?.requestFailed(at: self.kernel.now)
            self.wayOut.handle(.resumed)
        }
        for event in news.events { self.publisher.bus.publish(.netlink(event)) }
    }

    func receive(_ command: Command) {
        command(self)
        self.settle()
    }

    func timerFired(_ token: UInt64) {
        let (changes, isOfKernel) = self.kernel.timerFired(token)
        if isOfKernel || !changes.events.isEmpty { self.kernelChanged(changes) }
        guard !isOfKernel else { return }
        defer { self.settle() }
        switch self.timers.fired(token) {
        case .evaluate: self.evaluate(receivedAt: self.kernel.now)
        case .debounce: self.debounce()
        case .periodic: self.evaluatePeriodically()
        case .expiry:
            self.evaluate(receivedAt: nil)
            if let moment = self.evaluator.expiry.confirmation(from: self.kernel.moment) {
                self.timers.arm(.expiry, at: moment)
            }
        case .hostnames: self.targets.resolve(.due(self.kernel.now))
        case .internet: self.checkInternet()
        case .targets: self.targets.checks?.run(at: self.kernel.now)
        case .diagnosis: self.wayOut.handle(.timer)
        case nil: break
        }
    }

    // MARK: Evaluation

    /// Evaluates everything; `receivedAt` is when the triggering kernel message was read, nil if there was none.
    private func evaluate(receivedAt: MonotonicTime?) {
        self.throttle.didEvaluate()
        self.timers.arm(.evaluate, at: nil)
        // While lost messages are being recovered, the last verdict is better than one from wrong tables.
        if self.kernel.isBehind, self.publisher.isReady { return self.updateHealth() }
        guard self.kernel.isConnected else { return self.didDisconnect() }
        let start = self.kernel.moment
        defer {
            let end = self.kernel.moment
            self.throttle.pause(for: end - start, from: end)
        }
        self.refreshSnapshot()
        let now = self.kernel.now
        let detection = { receivedAt.map { self.kernel.moment - $0 } }
        if let reason = self.evaluator.reducer.snapshot.linkReason {
            self.targets.shutAll(reason, detection: detection, at: now)
        }
        guard let evaluation = self.evaluator.evaluateFamilies() else { return self.didLoseNetlink() }
        let resolvers = self.targets.table.resolverVerdict
        self.targets.table.resolverVerdict = evaluation.resolvers
        if resolvers.level < .routed, evaluation.resolvers.level >= .routed { self.targets.resolve(.all) }
        let result = self.update(evaluation.families, detection: detection(), at: now)
        // Gates are shut before the change is published, so that no attempt starts on a dead path.
        let isAnswered = self.targets.evaluateAll(detection: detection, at: now)
        self.publish(result)
        guard isAnswered, self.kernel.isConnected else { return self.didLoseNetlink() }
        self.didEvaluate(lookups: evaluation.lookups + self.targets.table.questionCount)
    }

    private var links: [Link] { self.evaluator.reducer.snapshot.sortedLinks }

    /// Records the families' verdicts, raised to the results of internet checks; the published verdicts follow the
    /// diagnosis.
    private func update(
        _ families: [ReachabilityStatus.Family], detection: Duration?, at now: MonotonicTime
    ) -> VerdictPublisher.Update {
        let failing = self.wayOut.failing
        let families = self.wayOut.internet?.applyInternetLevel(to: families, at: now) ?? families
        let published = families.map { entry in
            guard let reason = failing[entry.family], entry.verdict.level >= .routed else { return entry }
            var limited = entry
            (limited.verdict.level, limited.verdict.reason) = (.limited, reason)
            return limited
        }
        return self.publisher.update(links: self.links) {
            $0.update(
                families, published: published,
                times: { path in
                    var times = self.evaluator.debounceTimes(for: path, at: now)
                    // `limited` ranks above `routed`, but here it is not a gain.
                    if !failing.isEmpty { times.published = .zero }
                    return times
                },
                detection: detection, at: now)
        }
    }

    private func didEvaluate(lookups: Int) {
        self.updateHealth()
        self.publisher.publishLinks(self.evaluator.reducer.snapshot)
        self.publisher.bus.publish(.netlink(.lookedUp(count: lookups)))
        self.timers.arm(.expiry, at: self.evaluator.expiry.deadline(from: self.kernel.moment))
        self.timers.arm(.periodic, at: self.kernel.nextPeriodicEvaluation)
        self.setReady()
        self.checkInternet()
    }

    private func refreshSnapshot() {
        guard let snapshot = self.evaluator.refreshSnapshot(at: self.kernel.now) else { return }
        // A watch may immediately query which addresses are still held.
        let held = Set(snapshot.sources.keys)
        self.publisher.store.write { $0.heldAddresses = held }
    }

    /// Evaluates everything, including changes without an event: routes, resolvers, a dead netlink socket.
    private func evaluatePeriodically() {
        let news = self.kernel.readMonitor()
        if !news.events.isEmpty { self.kernelChanged(news) }
        self.reporter.expireWatch()
        self.evaluator.readResolvers()
        self.evaluate(receivedAt: nil)
    }

    /// Lets pending gains that are stable take effect.
    private func debounce() {
        let now = self.kernel.now
        let result = self.publisher.update(links: self.links) { $0.tick(at: now) }
        self.targets.tick(at: now)
        self.publish(result)
    }

    private func publish(_ result: VerdictPublisher.Update) {
        if result.hasNewLevel { self.publisher.publishInternetLevels(in: &self.targets.table) }
        let isNewNetwork = self.publisher.publish(result.changes)
        for change in result.changes { self.wayOut.handle(.path(change)) }
        guard isNewNetwork else { return }
        // Names may have other addresses on another network.
        self.evaluator.readResolvers()
        self.targets.resolveAgain()
    }

    // MARK: Netlink

    private func updateHealth() { self.publisher.setHealth(self.kernel.health, self.kernel.state) }

    /// Records that a lookup has found the netlink socket dead.
    private func didLoseNetlink() {
        if case .unavailable(let text) = self.kernel.state { self.publisher.bus.publish(.netlink(.lost(text))) }
        self.didDisconnect()
    }

    /// Opens every gate: a monitor that cannot read the kernel must not hold tasks back.
    private func didDisconnect() {
        guard self.kernel.state != .starting else { return }
        self.updateHealth()
        let families = AddressFamily.allCases.map { ReachabilityStatus.Family(family: $0, verdict: .unknown) }
        let result = self.update(families, detection: nil, at: self.kernel.now)
        self.targets.openAll(at: self.kernel.now)
        self.publish(result)
        self.setReady()
    }

    func route(to address: IPAddress) -> AddressRoute {
        guard self.publisher.isReady, self.kernel.isConnected else { return AddressRoute(verdict: .unknown) }
        self.refreshSnapshot()
        if let route = self.evaluator.route(to: address) { return route }
        self.didLoseNetlink()
        return AddressRoute(verdict: .unknown)
    }

    func hasRoute(to address: IPAddress, over link: String) -> Bool {
        guard self.publisher.isReady, self.kernel.isConnected else { return true }
        self.refreshSnapshot()
        return self.evaluator.hasRoute(to: address, over: link)
    }

    func report(_ query: RouteQuery) -> RouteReport {
        guard self.kernel.isConnected else { return .unavailable(self.kernel.unavailableReason) }
        self.refreshSnapshot()
        if let report = self.reporter.report(query) { return report }
        self.didLoseNetlink()
        return .unavailable(self.kernel.unavailableReason)
    }

    // MARK: Commands

    func recordTTL(_ timeToLive: Duration, of name: String) {
        self.targets.table.hostnames.recordTTL(timeToLive, of: name, at: self.kernel.now)
    }

    func resolversChanged() {
        self.evaluator.readResolvers()
        self.evaluate(receivedAt: nil)
        self.targets.resolveAgain()
    }

    /// Calls back when the first status is available, or after `limit`.
    func waitForStatus(within limit: Duration, _ call: @escaping EngineTimers.Call) {
        if self.isComplete { call() } else { self.timers.call(after: limit, isWaiting: true, call) }
    }

    func call(after delay: Duration, _ call: @escaping EngineTimers.Call) {
        self.timers.call(after: delay, isWaiting: false, call)
    }

    /// Evaluates everything; returns the duration.
    func evaluateNow() -> Duration {
        let start = self.kernel.moment
        self.evaluatePeriodically()
        return self.kernel.moment - start
    }

    func internetCheckFinished(_ family: AddressFamily, round: Int, _ found: Connectivity) {
        let isChanged = self.wayOut.internet?.didFinish(family, round: round, found, at: self.kernel.now) ?? false
        if isChanged { self.evaluate(receivedAt: nil) }
    }

    func targetChecked(_ number: Int, round: Int, _ outcome: TargetCheck.Outcome) {
        let check = self.targets.didCheck(number, round: round, outcome, at: self.kernel.now)
        if let check { self.wayOut.handle(.checked(check, self.targets.checks?.path(of: number)?.identity)) }
    }

    /// Calls back when a check that begins now has decided.
    func confirmInternet(over family: AddressFamily, _ call: @escaping EngineTimers.Call) {
        self.wayOut.internet?.confirm(family, at: self.kernel.now, call) ?? call()
    }

    // MARK: This host

    func record(_ evidence: TrafficEvidence) {
        // A good connectivity may no longer be valid.
        if case .failure = evidence { self.wayOut.internet?.requestFailed(at: self.kernel.now) }
        self.wayOut.handle(.traffic(evidence))
    }

    // Runs the effects of this host's diagnosis, and what follows from them, after every entry into the engine.
    private func settle() {
        if let start = self.wayOut.internet?.silence.take() { self.record(.silence(since: start)) }
        repeat {
            if self.publisher.hasNewTarget { self.wayOut.handle(.viewed) }
            self.publisher.hasNewTarget = false
            guard let effect = self.wayOut.nextEffect() else { break }
            if case .internetAnswers(let families, let start) = effect { self.answered(families, since: start) }
            if case .failing = effect {
                self.targets.checks?.wayOutChanged(
                    isFailing: !self.wayOut.failing.isEmpty, portal: self.wayOut.portal, at: self.kernel.now)
                self.evaluate(receivedAt: nil)
            }
        } while true
        self.armTimers()
    }

    // The check URLs answered a diagnosis over these families since `moment`.
    private func answered(_ families: [AddressFamily], since moment: MonotonicTime) {
        let now = self.kernel.now
        let changes = families.map { self.wayOut.internet?.didAnswer($0, since: moment, at: now) ?? false }
        if changes.contains(true) { self.evaluate(receivedAt: nil) }
    }

    // MARK: First status, targets and names

    // True if every configured target's name has been resolved or has failed to resolve.
    private var isComplete: Bool { self.publisher.isReady && self.targets.table.isResolved }

    private func setReady() {
        self.publisher.setReady()
        if self.isComplete { self.timers.releaseWaiting() }
        self.targets.resolve(.new)
    }

    func watch(_ target: Target, _ id: UInt64, _ handler: @escaping TargetTable.Handler) {
        guard let position = self.targets.watch(target, id: id, handler: handler) else { return }
        if self.publisher.isReady { self.evaluateTarget(at: position) }
        self.targets.resolve(.new)
        if !self.targets.isEvaluated(position) { handler(TargetVerdict(target: target, verdict: .unknown)) }
    }

    private func evaluateTarget(at position: Int) {
        guard self.kernel.isConnected else { return self.targets.open(position, at: self.kernel.now) }
        self.refreshSnapshot()
        // Without the socket every verdict is unfounded, not only this one.
        if !self.targets.evaluate(position, at: self.kernel.now) { self.didLoseNetlink() }
    }

    func didResolve(_ name: String, _ result: Result<[IPAddress], ResolveFailure>) {
        // A single evaluation ends before the time to live matters.
        let findsTTL = self.kernel.state != .connected(.once)
        for position in self.targets.record(result, for: name, findsTTL: findsTTL, at: self.kernel.now) {
            self.evaluateTarget(at: position)
        }
        self.targets.resolve(.new)
        if self.isComplete { self.timers.releaseWaiting() }
    }

    private func checkInternet() {
        if self.wayOut.internet?.run(at: self.kernel.now) ?? false { self.evaluate(receivedAt: nil) }
    }

    // A timer whose deadline has not moved is unchanged.
    private func armTimers() {
        self.wayOut.internet?.answer(at: self.kernel.now)
        self.timers.arm(.debounce, at: [self.publisher.deadline, self.targets.table.deadline].compactMap(\.self).min())
        self.timers.arm(.hostnames, at: self.targets.table.hostnames.deadline)
        self.timers.arm(.internet, at: self.wayOut.internet?.deadline)
        self.timers.arm(.targets, at: self.targets.checks?.deadline)
        let due = self.wayOut.deadline
        if self.diagnosis?.deadline != due {
            self.diagnosis = due.map { ($0, self.kernel.now + ($0 - self.publisher.time.monotonic())) }
        }
        self.timers.arm(.diagnosis, at: self.diagnosis?.moment)
    }
}

extension ReachabilityEngine {
    /// The engine's dependencies.
    struct Dependencies: Sendable {
        var configuration: ReachabilityConfiguration
        var bus: EventBus
        var resolver: any NameResolver
        var time: any TimeSource
        /// The addresses of the host's resolvers.
        var systemResolvers: @Sendable () -> [IPAddress]
        var evidence: PassiveEvidence
        /// Requests the URLs of internet checks; nil without checks.
        var web: (any HTTPChecker)?

        /// Checks the configured targets; nil if none are checked.
        var targetChecker: (any TargetChecker)?
        /// Diagnoses this host; nil if nothing is diagnosed.
        var diagnoser: (any HostDiagnoser)?
        /// Whether it is diagnosed whenever evidence asks for it.
        var diagnosesHost = false
        /// The start of a watch of the quality; nil if the quality is not watched.
        var quality: QualityRecord?
        /// Sends a command to the engine, from any thread.
        var send: @Sendable (@escaping Command) -> Void = { _ in }

        /// True if ways out that are not used are asked.
        var asksUplinks: Bool {
            self.configuration.checksStandby && self.diagnosesHost && self.diagnoser != nil
        }

        /// True if internet checks run on a schedule.
        var checksInternet: Bool { self.configuration.internetCheck.isEnabled && self.web != nil }
    }

    /// Work that other threads send to the engine.
    typealias Command = @Sendable (ReachabilityEngine) -> Void
}

extension NetlinkClient {
    // Some changes have no event; a periodic evaluation finds them.
    private static let periodicInterval = Duration.seconds(12)
    private static let stormInterval = Duration.milliseconds(500)

    /// True while the kernel can be read.
    var isConnected: Bool { if case .connected = self.state { true } else { false } }

    /// True while route messages are ignored because of a storm.
    var isStorm: Bool { self.state == .connected(.storm) }

    /// Why the kernel cannot be read.
    var unavailableReason: String {
        if case .unavailable(let text) = self.state { text } else { "the kernel has not been read yet" }
    }

    /// When to evaluate again without an event; nil if an earlier evaluation is certain or none is needed.
    var nextPeriodicEvaluation: MonotonicTime? {
        switch self.state {
        case .connected(.once), .unavailable, .starting: nil
        case .connected(.storm): self.now + NetlinkClient.stormInterval
        case .connected(.event), .connected(.poll): self.now + NetlinkClient.periodicInterval
        }
    }
}

extension NetlinkEvent {
    var changesHealth: Bool {
        switch self {
        case .overrun, .dumpInterrupted, .resynced, .receiveBuffer: true
        case .received, .malformed, .lookedUp, .modeChanged, .lost: false
        }
    }
}
