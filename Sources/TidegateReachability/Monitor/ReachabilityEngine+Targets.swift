internal import TidegateCore
internal import TidegateNetwork

// What is done for targets and their names.
extension ReachabilityEngine {
    // MARK: Watches

    func watch(_ target: Target, _ id: UInt64, _ sink: @escaping @Sendable (TargetVerdict) -> Void) {
        let known = target.address == nil ? self.parts.resolver.cached(target.host) : nil
        let position = self.book.watch(target, id: id, known: known, sink: sink)
        let entry = self.book.entries[position]
        if let verdict = entry.hold.gates.verdict {
            return sink(TargetVerdict(target: target, verdict: verdict, addresses: entry.addresses))
        }
        if self.isReady { self.evaluateTarget(at: position) }
        self.askNames(.new)
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

    func askNames(_ choice: HostnameTable.Choice) {
        // Also without a way to any resolver: /etc/hosts needs none, and a failure comes at once.
        guard self.isReady else { return }
        for name in self.book.takeNames(choice) {
            self.parts.resolver.resolve(name) { [send = self.send] result in _ = send(.resolved(name, result)) }
        }
    }

    func resolved(_ name: String, _ result: Result<[IPAddress], ResolveFailure>) {
        let isChanged = self.book.answered(name, result, at: self.kernel.now)
        for position in self.book.positions(of: name) {
            if isChanged || self.book.entries[position].hold.people.verdict == nil {
                self.evaluateTarget(at: position)
            }
            self.writeTarget(position)
        }
        self.armNames(by: self.book.names[name]?.deadline)
        if case .success = result { self.learnLife(of: name) }
        self.askNames(.new)
        self.releaseWaiters()
    }

    // Finding the earliest deadline costs a look at every name; an answer only moves the timer forward.
    func armNames(by deadline: MonotonicTime?) {
        guard let deadline = deadline.map(self.book.names.look), self.namesDeadline.map({ deadline < $0 }) ?? true
        else { return }
        self.namesDeadline = deadline
        self.arm(.names, at: deadline)
    }

    func askDueNames() {
        self.namesDeadline = nil
        self.askNames(.due(self.kernel.now))
        self.armNames(by: self.book.names.nextDeadline)
    }

    // MARK: Looking

    /// Looks at every target; false where the kernel has gone meanwhile.
    func evaluateTargets(_ reducer: VerdictReducer, heardAt: MonotonicTime?) -> Bool {
        let questions = self.book.questions()
        var position = 0
        var own: [AddressVerdict] = []
        // Judged as the answers come, which are in the order of the entries: nothing large is ever kept.
        let isAnswered = self.kernel.lookUp(questions[...]) { index, lookup in
            while self.book.entries[position].questions.isEmpty {
                self.judged(position, [], heardAt: heardAt)
                position += 1
            }
            own.append(self.verdict(reducer, lookup, of: questions[index].destination))
            guard self.book.entries[position].questions.upperBound == index + 1 else { return }
            self.judged(position, own, heardAt: heardAt)
            own.removeAll(keepingCapacity: true)
            position += 1
        }
        guard isAnswered else { return false }
        for rest in position..<self.book.entries.count { self.judged(rest, [], heardAt: heardAt) }
        return true
    }

    private func verdict(
        _ reducer: VerdictReducer, _ lookup: RouteLookup, of destination: IPAddress
    ) -> AddressVerdict {
        let judgement = reducer.judge(lookup, of: destination)
        self.noteExpiry(judgement)
        let verdict = reducer.address(destination, judgement)
        return AddressVerdict(address: destination, verdict: self.raised(verdict, destination.family))
    }

    /// Tells the gates of all that lies outside this host that no link is left.
    ///
    /// Where no link is usable no lookup can end well, and the kernel answers none while it still takes a link down;
    /// so gates do not wait for the lookups, which follow and come to the same.
    func shutTargets(_ reason: UnreachableReason, heardAt: MonotonicTime?) {
        let verdict = Verdict(level: .none, reason: reason)
        for position in self.book.entries.indices where self.book.entries[position].leadsOut {
            let addresses = self.book.entries[position].addresses.map {
                AddressVerdict(address: $0.address, verdict: verdict)
            }
            self.judged(position, addresses, verdict, .usual, heardAt.map { self.kernel.moment - $0 })
        }
    }

    private func evaluateTarget(at position: Int) {
        guard case .connected = self.kernel.state else { return self.judged(position, [], .unknown, .usual, nil) }
        let reducer = self.currentReducer()
        let questions = self.book.questions(of: self.book.entries[position].target)
        var own: [AddressVerdict] = []
        let isAnswered = self.kernel.lookUp(questions[...]) { index, lookup in
            own.append(self.verdict(reducer, lookup, of: questions[index].destination))
        }
        // A socket that died now leaves every verdict unfounded, not only this one.
        guard isAnswered else { return self.loseSight() }
        self.judged(position, own, heardAt: nil)
        self.armHold()
    }

    private func judged(_ position: Int, _ addresses: [AddressVerdict], heardAt: MonotonicTime?) {
        let verdict = VerdictReducer.best(addresses) ?? self.resolverVerdict
        if self.book.isSettled(position, addresses, verdict) { return }
        let detection = heardAt.map { self.kernel.moment - $0 }
        self.judged(position, addresses, verdict, self.times(for: verdict.path), detection)
    }

    /// Takes a target's verdict in, and tells whoever has to know.
    func judged(
        _ position: Int, _ addresses: [AddressVerdict], _ verdict: Verdict, _ times: VerdictDebouncer.Times,
        _ detection: Duration?
    ) {
        var effects: [VerdictDebouncer.Effect] = []
        self.book.update(position) { entry in
            entry.addresses = addresses
            effects = entry.hold.handle(.judged(verdict, times, detection: detection), at: self.kernel.now)
        }
        self.noteTargetDeadline(position)
        self.carryOut(effects, position)
    }

    // Kept instead of searched for, because thousands watch; it may be early, never late.
    private func noteTargetDeadline(_ position: Int) {
        guard let deadline = self.book.entries[position].hold.deadline else { return }
        self.targetDeadline = min(self.targetDeadline ?? deadline, deadline)
    }

    func settleTargets() {
        guard let due = self.targetDeadline, due <= self.kernel.now else { return }
        self.targetDeadline = nil
        defer { for position in self.book.entries.indices { self.noteTargetDeadline(position) } }
        for position in self.book.entries.indices {
            guard let deadline = self.book.entries[position].hold.deadline, deadline <= self.kernel.now else {
                continue
            }
            var effects: [VerdictDebouncer.Effect] = []
            self.book.update(position) { effects = $0.hold.handle(.tick, at: self.kernel.now) }
            self.carryOut(effects, position)
        }
    }

    private func carryOut(_ effects: [VerdictDebouncer.Effect], _ position: Int) {
        let gates = self.writeTarget(position)
        for effect in effects {
            switch effect {
            case .tellGates:
                for sink in self.book.entries[position].watches.values { sink(gates) }
            case .tellPeople(let from, let lasted, let detection):
                let entry = self.book.entries[position]
                guard entry.isConfigured else { continue }
                self.publish(
                    .target(entry.target), from: from, to: entry.hold.people.verdict ?? .unknown, lasted, detection)
            }
        }
    }

    /// Writes up what others may read about a target; what its gates go by.
    // By parts, because thousands move together: a copy of the whole entry costs more than the lookup.
    @discardableResult
    private func writeTarget(_ position: Int) -> TargetVerdict {
        let target = self.book.entries[position].target
        let addresses = self.book.entries[position].addresses
        let gates = TargetVerdict(
            target: target, verdict: self.book.entries[position].hold.gates.verdict ?? .unknown, addresses: addresses)
        guard self.book.entries[position].isConfigured else {
            self.board.write { $0.targetsForGates[target] = gates }
            return gates
        }
        var people = TargetVerdict(
            target: target, verdict: self.book.entries[position].hold.people.verdict ?? .unknown, addresses: addresses)
        // Gates stay open for a name that does not exist, so that the attempt can say so; people are told here.
        if addresses.isEmpty, let failure = self.book.names[target.host]?.failure, people.verdict.level >= .routed {
            people.verdict = Verdict(level: .none, reason: failure.reason)
        }
        self.board.write { content in
            content.targetsForGates[target] = gates
            content.targetsForPeople[target] = people
        }
        return gates
    }
}
