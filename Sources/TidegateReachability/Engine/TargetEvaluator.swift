internal import TidegateCore
internal import TidegateNetwork

/// Evaluates targets and passes their verdicts to the publisher; owns their table.
final class TargetEvaluator {
    /// The time since the kernel's message; nil if no message triggered the evaluation.
    typealias Detection = () -> Duration?

    private let evaluator: RouteEvaluator
    private let publisher: VerdictPublisher
    /// Checks the configured targets; nil if there is no checker.
    let checks: TargetChecks?
    private let resolver: any NameResolver
    private let send: @Sendable (@escaping ReachabilityEngine.Command) -> Void
    var table: TargetTable

    init(_ dependencies: ReachabilityEngine.Dependencies, evaluator: RouteEvaluator, publisher: VerdictPublisher) {
        self.resolver = dependencies.resolver
        self.send = dependencies.send
        self.evaluator = evaluator
        self.publisher = publisher
        self.table = TargetTable(configured: dependencies.configuration.targets, context: evaluator.context)
        let targets = self.table.entries.map(\.target)
        publisher.store.write { $0.targetOrder = targets }
        self.checks = TargetChecks(targets, dependencies, publisher: publisher)
    }

    // MARK: Watches

    /// Adds a watch; returns the target's position if it was never evaluated.
    ///
    /// Otherwise the handler has already received its verdict.
    func watch(_ target: Target, id: UInt64, handler: @escaping TargetTable.Handler) -> Int? {
        let known = target.address == nil ? self.resolver.cached(target.host) : nil
        let position = self.table.watch(target, id: id, known: known, handler: handler)
        guard !self.isEvaluated(position) else {
            handler(self.publisher.gating(position, in: self.table))
            return nil
        }
        return position
    }

    func unwatch(_ id: UInt64) {
        if let target = self.table.unwatch(id) { self.publisher.removeTarget(target) }
    }

    /// True once a target has a verdict.
    func isEvaluated(_ position: Int) -> Bool { self.table.entries[position].debouncer.gating.verdict != nil }

    // MARK: Evaluation

    /// Evaluates every target; false if the kernel cannot be queried.
    func evaluateAll(detection: Detection, at now: MonotonicTime) -> Bool {
        let questions = self.table.questions()
        var position = 0
        var own: [AddressVerdict] = []
        // Answers arrive in the order of the entries, so only one target's addresses are held at a time.
        let isAnswered = self.evaluator.evaluate(questions) { index, entry in
            while self.table.entries[position].questions.isEmpty {
                self.update(position, [], detection: detection, at: now)
                position += 1
            }
            own.append(entry)
            guard self.table.entries[position].questions.upperBound == index + 1 else { return }
            self.update(position, own, detection: detection, at: now)
            own.removeAll(keepingCapacity: true)
            position += 1
        }
        guard isAnswered else { return false }
        for rest in position..<self.table.entries.count { self.update(rest, [], detection: detection, at: now) }
        return true
    }

    /// Evaluates one target; false if the kernel cannot be queried.
    func evaluate(_ position: Int, at now: MonotonicTime) -> Bool {
        var own: [AddressVerdict] = []
        let questions = self.table.questions(of: self.table.entries[position].target)
        guard self.evaluator.evaluate(questions, { own.append($1) }) else { return false }
        self.update(position, own, detection: { nil }, at: now)
        return true
    }

    /// Shuts every target outside this host, because no link is usable.
    func shutAll(_ reason: UnreachableReason, detection: Detection, at now: MonotonicTime) {
        let changes = self.table.shutAll(reason, detection: detection(), at: now)
        self.publish(changes)
        for change in changes { self.setPath(of: change.position, at: now) }
    }

    /// Opens every target, because the kernel cannot be read.
    func openAll(at now: MonotonicTime) { for position in self.table.entries.indices { self.open(position, at: now) } }

    /// Opens one target, because the kernel cannot be read.
    func open(_ position: Int, at now: MonotonicTime) {
        self.publisher.publish(position, self.table.open(position, at: now), in: &self.table)
        self.setPath(of: position, at: now)
    }

    /// Lets pending gains that are stable take effect.
    func tick(at now: MonotonicTime) { self.publish(self.table.tick(at: now)) }

    private func update(
        _ position: Int, _ addresses: [AddressVerdict], detection: Detection, at now: MonotonicTime
    ) {
        let effects = self.table.update(
            position, addresses, times: { self.evaluator.debounceTimes(for: $0, at: now) }, detection: detection,
            at: now)
        guard let effects else { return }
        self.publisher.publish(position, effects, in: &self.table)
        self.setPath(of: position, at: now)
    }

    private func publish(_ changes: [(position: Int, effects: [VerdictDebouncer.Effect])]) {
        for change in changes { self.publisher.publish(change.position, change.effects, in: &self.table) }
    }

    // MARK: Checks

    private func setPath(of position: Int, at now: MonotonicTime) {
        let entry = self.table.entries[position]
        guard let number = entry.number, let verdict = entry.debouncer.latest else { return }
        self.checks?.setPath(verdict, entry.addresses, of: number, at: now)
    }

    /// Records the outcome of a check; nil if it is no longer valid.
    func didCheck(
        _ number: Int, round: Int, _ outcome: TargetCheck.Outcome, at now: MonotonicTime
    ) -> TargetCheckEvent? {
        guard let checks = self.checks, let event = checks.didFinish(number, round: round, outcome, at: now),
            let position = self.table.position(ofConfigured: number)
        else { return nil }
        let effects = self.table.setFound(checks.found(number), at: position, now: now)
        self.publisher.publish(position, effects, in: &self.table)
        return event
    }

    // MARK: Names

    /// Resolves names, after the first verdict.
    ///
    /// Also if no resolver has a route: /etc/hosts needs none, and a failure comes immediately.
    func resolve(_ choice: HostnameTable.Choice) {
        guard self.publisher.isReady else { return }
        for name in self.table.hostnames.take(choice) {
            self.resolver.resolve(name) { [send] result in send { $0.didResolve(name, result) } }
        }
    }

    /// Resolves every name again, because its addresses may have changed.
    func resolveAgain() {
        self.resolver.invalidate()
        self.resolve(.all)
    }

    /// Records an answer; returns the targets to evaluate again.
    func record(
        _ result: Result<[IPAddress], ResolveFailure>, for name: String, findsTTL: Bool, at now: MonotonicTime
    ) -> [Int] {
        let positions = self.table.record(result, for: name, at: now)
        // The status shows a failure even if no verdict changes.
        for position in self.table.positions(of: name) {
            self.publisher.publish(position, [], in: &self.table)
            guard case .failure(let failure) = result, let number = self.table.entries[position].number else {
                continue
            }
            self.checks?.setUnresolved(failure, of: number, at: now)
        }
        if findsTTL, case .success = result {
            self.resolver.timeToLive(of: name) { [send] time in if let time { send { $0.recordTTL(time, of: name) } } }
        }
        return positions
    }
}
