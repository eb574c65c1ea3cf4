internal import TidegateBus
internal import TidegateModel
internal import TidegateNetlink

// What is done for targets and their names.
extension Watchkeeper {
    // MARK: Watches

    func watch(_ target: Target, _ id: UInt64, _ sink: @escaping @Sendable (TargetVerdict) -> Void) {
        let known = target.address == nil ? self.parts.resolver.cached(target.host) : nil
        let position = self.book.watch(target, id: id, known: known, sink: sink)
        let entry = self.book.entries[position]
        guard entry.hold.gates.verdict == nil else { return sink(self.verdictForGates(entry)) }
        if self.isReady { self.evaluateTarget(at: position) }
        self.askNames(all: false)
        // A verdict that has just come has told the sink already.
        if self.book.entries[position].hold.gates.verdict == nil {
            sink(TargetVerdict(target: target, verdict: .unknown))
        }
    }

    func unwatch(_ id: UInt64) {
        guard let target = self.book.unwatch(id) else { return }
        self.board.write { content in
            content.targetsForGates[target] = nil
            content.targetsForPeople[target] = nil
        }
    }

    // MARK: Names

    func askNames(all: Bool) {
        if all { self.arm(.names, at: self.kernel.now + Watchkeeper.nameInterval) }
        // Also without a way to any resolver: /etc/hosts needs none, and a failure comes at once.
        guard self.isReady else { return }
        for name in self.book.namesToAsk(all: all) {
            self.book.asked(name)
            self.parts.resolver.resolve(name) { [send = self.send] result in _ = send(.resolved(name, result)) }
        }
    }

    func resolved(_ name: String, _ result: Result<[IPAddress], ResolveFailure>) {
        let isChanged = self.book.answered(name, result)
        if case .failure = result, let failures = self.book.names[name]?.failures {
            // Sooner than the usual minute, but ever more slowly.
            let pause = min(Watchkeeper.nameInterval, .seconds(1) * (1 << min(failures - 1, 6)))
            self.arm(.names, at: self.kernel.now + pause)
        }
        if self.isReady {
            for position in self.book.entries.indices where self.book.entries[position].target.host == name {
                if isChanged || self.book.entries[position].hold.people.verdict == nil {
                    self.evaluateTarget(at: position)
                }
                self.writeTarget(position)
            }
        }
        self.releaseWaiters()
    }

    // MARK: Looking

    /// Looks at every target; how many lookups it took.
    func evaluateTargets(_ reducer: VerdictReducer, heardAt: MonotonicTime?) -> Int {
        let questions = self.book.questions()
        guard !self.book.entries.isEmpty else { return 0 }
        let lookups = self.kernel.lookUp(questions[...])
        guard case .seeing = self.kernel.sight else { return 0 }
        for position in self.book.entries.indices {
            let own = self.book.entries[position].questions
            self.judge(position, reducer, questions[own], lookups[own], heardAt: heardAt)
        }
        self.armHold()
        return questions.count
    }

    private func evaluateTarget(at position: Int) {
        guard let reducer = self.reducer, case .seeing = self.kernel.sight else {
            return self.judged(position, [], .unknown, .usual, nil)
        }
        let questions = self.book.questions()[self.book.entries[position].questions]
        let lookups = self.kernel.lookUp(questions)
        self.judge(position, reducer, questions, lookups[...], heardAt: nil)
        self.armHold()
    }

    private func judge(
        _ position: Int, _ reducer: VerdictReducer, _ questions: ArraySlice<RouteQuestion>,
        _ lookups: ArraySlice<RouteLookup>, heardAt: MonotonicTime?
    ) {
        var addresses: [AddressVerdict] = []
        addresses.reserveCapacity(questions.count)
        for (question, lookup) in zip(questions, lookups) {
            let judgement = reducer.judge(lookup, of: question.destination)
            addresses.append(
                AddressVerdict(
                    address: question.destination, verdict: reducer.address(question.destination, judgement)))
        }
        let verdict = VerdictReducer.best(addresses) ?? self.resolverVerdict
        if self.book.isSettled(position, addresses, verdict) { return }
        let detection = heardAt.map { self.kernel.moment - $0 }
        self.judged(position, addresses, verdict, self.times(for: verdict.path), detection)
    }

    /// Takes a target's verdict in, and tells whoever has to know.
    func judged(
        _ position: Int, _ addresses: [AddressVerdict], _ verdict: Verdict, _ times: HoldMachine.Times,
        _ detection: Duration?
    ) {
        var effects: [HoldMachine.Effect] = []
        self.book.update(position) { entry in
            entry.addresses = addresses
            effects = entry.hold.handle(.judged(verdict, times, detection: detection), at: self.kernel.now)
        }
        self.carryOut(effects, position)
    }

    func settleTargets() {
        for position in self.book.entries.indices {
            guard let deadline = self.book.entries[position].hold.deadline, deadline <= self.kernel.now else {
                continue
            }
            var effects: [HoldMachine.Effect] = []
            self.book.update(position) { effects = $0.hold.handle(.tick, at: self.kernel.now) }
            self.carryOut(effects, position)
        }
    }

    var targetDeadline: MonotonicTime? { self.book.entries.lazy.compactMap(\.hold.deadline).min() }

    private func carryOut(_ effects: [HoldMachine.Effect], _ position: Int) {
        let entry = self.book.entries[position]
        self.writeTarget(position)
        for effect in effects {
            switch effect {
            case .tellGates:
                let verdict = self.verdictForGates(entry)
                for sink in entry.watches.values { sink(verdict) }
            case .tellPeople(let from, let lasted, let detection):
                guard entry.isConfigured else { continue }
                self.publish(
                    .target(entry.target), from: from, to: entry.hold.people.verdict ?? .unknown, lasted, detection)
            }
        }
    }

    private func verdictForGates(_ entry: TargetBook.Entry) -> TargetVerdict {
        TargetVerdict(
            target: entry.target, verdict: entry.hold.gates.verdict ?? .unknown, addresses: entry.addresses)
    }

    private func writeTarget(_ position: Int) {
        let entry = self.book.entries[position]
        let gates = self.verdictForGates(entry)
        var people = TargetVerdict(
            target: entry.target, verdict: entry.hold.people.verdict ?? .unknown, addresses: entry.addresses)
        // Gates stay open for a name that does not exist, so that the attempt can say so; people are told here.
        if entry.addresses.isEmpty, let failure = self.book.names[entry.target.host]?.failure,
            people.verdict.level >= .routed
        {
            people.verdict = Verdict(level: .none, reason: failure.reason)
        }
        self.board.write { content in
            content.targetsForGates[entry.target] = gates
            if entry.isConfigured { content.targetsForPeople[entry.target] = people }
        }
    }
}
