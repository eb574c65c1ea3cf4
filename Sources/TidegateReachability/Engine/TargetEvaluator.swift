internal import TidegateCore
internal import TidegateNetwork

/// Evaluates targets, and hands their verdicts to the publisher; owns the table of them.
final class TargetEvaluator {
    /// The time from the kernel's message to now; nil if no message led to the evaluation.
    typealias Detection = () -> Duration?

    private let evaluator: RouteEvaluator
    private let publisher: VerdictPublisher
    private let internet: InternetCheck?
    let lookups: HostnameLookups
    private(set) var table: TargetTable

    init(
        _ configured: [Target], resolver: any NameResolver, evaluator: RouteEvaluator, publisher: VerdictPublisher,
        internet: InternetCheck?
    ) {
        self.lookups = HostnameLookups(resolver)
        self.evaluator = evaluator
        self.publisher = publisher
        self.internet = internet
        self.table = TargetTable(configured: configured, context: evaluator.context)
        publisher.setTargetOrder(self.table.entries.map(\.target))
    }

    // MARK: Watches

    /// Adds a watch; returns the target's position if it was never evaluated, otherwise the handler has its verdict.
    func watch(_ target: Target, id: UInt64, handler: @escaping TargetTable.Handler) -> Int? {
        let position = self.table.watch(target, id: id, known: self.lookups.cached(target), handler: handler)
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
        // Answers come in the order of the entries, so that the addresses of only one target are kept at a time.
        let isAnswered = self.evaluator.evaluate(questions) { index, entry in
            while self.table.entries[position].questions.isEmpty {
                self.update(position, [], detection: detection, at: now)
                position += 1
            }
            own.append(self.applyInternetLevel(to: entry))
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
        guard self.evaluator.evaluate(questions, { own.append(self.applyInternetLevel(to: $1)) }) else { return false }
        self.update(position, own, detection: { nil }, at: now)
        return true
    }

    /// Records the verdict on the resolvers; true if they have just become reachable.
    func setResolverVerdict(_ verdict: Verdict) -> Bool {
        let before = self.table.resolverVerdict.level
        self.table.resolverVerdict = verdict
        return before < .routed && verdict.level >= .routed
    }

    /// Shuts every target outside this host, because no link is usable.
    func shutAll(_ reason: UnreachableReason, detection: Detection, at now: MonotonicTime) {
        self.publish(self.table.shutAll(reason, detection: detection(), at: now))
    }

    /// Opens every target, because the kernel cannot be read.
    func openAll(at now: MonotonicTime) { for position in self.table.entries.indices { self.open(position, at: now) } }

    /// Opens one target, because the kernel cannot be read.
    func open(_ position: Int, at now: MonotonicTime) {
        self.publisher.publish(position, self.table.open(position, at: now), in: &self.table)
    }

    /// Lets pending gains that are stable take effect.
    func tick(at now: MonotonicTime) { self.publish(self.table.tick(at: now)) }

    /// Calls the watches of the targets whose family has another level now.
    func publishInternetLevels() { self.publisher.publishInternetLevels(in: &self.table) }

    private func update(
        _ position: Int, _ addresses: [AddressVerdict], detection: Detection, at now: MonotonicTime
    ) {
        let effects = self.table.update(
            position, addresses, times: { self.evaluator.debounceTimes(for: $0, at: now) }, detection: detection,
            at: now)
        if let effects { self.publisher.publish(position, effects, in: &self.table) }
    }

    private func publish(_ changes: [(position: Int, effects: [VerdictDebouncer.Effect])]) {
        for change in changes { self.publisher.publish(change.position, change.effects, in: &self.table) }
    }

    private func applyInternetLevel(to entry: AddressVerdict) -> AddressVerdict {
        guard let internet = self.internet else { return entry }
        let verdict = internet.applyInternetLevel(to: entry.verdict, entry.address.family)
        return AddressVerdict(address: entry.address, verdict: verdict)
    }

    // MARK: Names

    /// Resolves names, once there is a first verdict.
    ///
    /// Even if no resolver has a route: /etc/hosts needs none, and a failure comes at once.
    func resolve(_ choice: HostnameTable.Choice) {
        if self.publisher.isReady { self.lookups.resolve(self.table.takeNames(choice)) }
    }

    /// Resolves every name again, because there may be other addresses for it.
    func resolveAgain() {
        self.lookups.invalidate()
        self.resolve(.all)
    }

    /// Resolves the names whose answers have expired.
    func refreshExpiredHostnames(at now: MonotonicTime) { self.resolve(.due(now)) }

    /// Records how long the last answer about a name is valid.
    func recordTTL(_ timeToLive: Duration, of name: String, at now: MonotonicTime) {
        self.table.recordTTL(timeToLive, of: name, at: now)
    }

    /// Records an answer; returns the targets to evaluate because of it.
    func record(
        _ result: Result<[IPAddress], ResolveFailure>, for name: String, findsTTL: Bool, at now: MonotonicTime
    ) -> [Int] {
        let positions = self.table.record(result, for: name, at: now)
        // The status shows a failure even if no verdict changes.
        for position in self.table.positions(of: name) { self.publisher.publish(position, [], in: &self.table) }
        if findsTTL, case .success = result { self.lookups.findTTL(of: name) }
        return positions
    }
}
