internal import TidegateCore
internal import TidegateNetwork

// How a look is taken: tables, lookups, verdicts, gates, people; in this order.
extension ReachabilityEngine {
    /// Looks at everything; `heardAt` is when the kernel's message was read, where one led here.
    func evaluate(heardAt: MonotonicTime?) {
        self.pacer.evaluated()
        self.disarm(.evaluate)
        // Behind the kernel the last verdict is better than one by tables that may be wrong.
        if self.kernel.isBehind, self.isReady { return self.writeHealth() }
        guard case .connected = self.kernel.state else { return self.goBlind() }
        let start = self.kernel.moment
        defer {
            let end = self.kernel.moment
            self.pacer.rest(after: end - start, from: end)
        }
        let reducer = self.currentReducer()
        if let reason = reducer.surroundings.linkReason { self.shutTargets(reason, heardAt: heardAt) }
        let questions = self.sentinelQuestions()
        var judgements: [Judgement] = []
        var isAnswered = self.kernel.lookUp(questions[...]) { index, lookup in
            judgements.append(reducer.judge(lookup, of: questions[index].destination))
        }
        guard isAnswered else { return self.loseSight() }
        self.soonestExpiry = nil
        for judgement in judgements { self.noteExpiry(judgement) }
        let families = self.raise(self.families(reducer, judgements))
        self.judgeResolvers(reducer, judgements)
        let told = self.settle(families, detection: heardAt.map { self.kernel.moment - $0 })
        // Gates before people: what is shut late lets an attempt out that cannot arrive.
        isAnswered = self.evaluateTargets(reducer, heardAt: heardAt)
        self.tell(told)
        // A socket that died on the way has left silence behind, which is no verdict.
        guard isAnswered, case .connected = self.kernel.state else { return self.loseSight() }
        self.finish(reducer, lookups: questions.count + self.book.questionCount)
    }

    /// Takes in that a lookup has found the kernel gone.
    func loseSight() {
        if case .unavailable(let reason) = self.kernel.state { self.parts.bus.publish(.netlink(.lost(reason))) }
        self.goBlind()
    }

    /// Opens everything: a monitor that cannot see may not hold anybody back.
    func goBlind() {
        guard self.kernel.state != .starting else { return }
        self.writeHealth()
        let told = self.settle(
            self.raise(AddressFamily.allCases.map { .init(family: $0, verdict: .unknown) }), detection: nil)
        for position in self.book.entries.indices { self.judged(position, [], .unknown, .usual, nil) }
        self.tell(told)
        self.becomeReady()
        self.askNames(.new)
    }

    private func finish(_ reducer: VerdictReducer, lookups: Int) {
        self.writeHealth()
        self.tellLinks(reducer.surroundings)
        self.parts.bus.publish(.netlink(.lookedUp(count: lookups)))
        self.armExpiry()
        self.armSafety()
        self.becomeReady()
        self.askNames(.new)
        self.releaseWaiters()
        self.checkInternet()
    }

    func noteExpiry(_ judgement: Judgement) {
        guard case .routed(_, _, let expiry?) = judgement else { return }
        self.soonestExpiry = min(self.soonestExpiry ?? expiry, expiry)
    }

    // From this moment, not the batch's: a first look may take long. A little later than the expiry, because the
    // kernel rounds to hundredths of a second; and never in a hot circle.
    private func armExpiry() {
        guard let expiry = self.soonestExpiry else { return self.disarm(.expiry) }
        self.arm(.expiry, at: self.kernel.moment + max(expiry + .milliseconds(20), .milliseconds(200)))
    }

    /// Looks whether a route has expired.
    func lookForExpiry() {
        self.evaluate(heardAt: nil)
        // The kernel gives a rest shorter than its clock's tick as 0, which otherwise means never.
        self.isExpiryDoubtful = !self.isExpiryDoubtful && self.soonestExpiry == nil
        if self.isExpiryDoubtful { self.arm(.expiry, at: self.kernel.moment + .milliseconds(100)) }
    }

    private func becomeReady() {
        guard !self.isReady else { return }
        self.isReady = true
        self.board.write { $0.isReady = true }
        self.releaseWaiters()
    }

    // MARK: Questions

    func currentReducer() -> VerdictReducer {
        if !self.isDirty, let reducer = self.reducer { return reducer }
        let surroundings = Surroundings(self.kernel.tables, excluded: &self.excluded)
        let metered = surroundings.links.values.filter { self.metered.match($0.name, or: $0.alternativeNames) }
            .map(\.index)
        let reducer = VerdictReducer(surroundings, meteredLinks: Set(metered))
        self.flaps.observe(surroundings.links.values, at: self.kernel.now)
        self.reducer = reducer
        self.isDirty = false
        // Whoever hears of a verdict may ask at once which addresses are still there.
        self.writeAddresses(surroundings)
        return reducer
    }

    var sentinels: [(AddressFamily, [IPAddress])] {
        AddressFamily.allCases.map { family in
            let chosen = self.parts.configuration.sentinels[family] ?? []
            return (family, chosen.isEmpty ? ReachabilityConfiguration.defaultSentinels[family] ?? [] : chosen)
        }
    }

    // The resolvers are asked about along with the sentinels, in case a name is not resolved yet.
    private func sentinelQuestions() -> [RouteQuestion] {
        if self.resolverAddresses.isEmpty { self.readResolvers() }
        let asker = self.parts.configuration.asker
        // Names are resolved by this process, whoever the sockets belong to.
        return self.sentinels.flatMap { $1 }.map { asker.question($0) }
            + self.resolverAddresses.map { RouteQuestion($0) }
    }

    func readResolvers() {
        let configured = self.parts.configuration.resolvers
        self.resolverAddresses = configured.isEmpty ? self.parts.resolverAddresses() : configured
    }

    // MARK: Families

    private func families(_ reducer: VerdictReducer, _ judgements: [Judgement]) -> [ReachabilityStatus.Family] {
        var rest = judgements[...]
        return self.sentinels.map { family, sentinels in
            let own = Array(rest.prefix(sentinels.count))
            rest = rest.dropFirst(sentinels.count)
            var verdict = reducer.family(family, own)
            if self.hidesLiveDefault(reducer, own, sentinels) { verdict.notes.append(.deadPreferredDefault) }
            return .init(family: family, verdict: verdict)
        }
    }

    private func judgeResolvers(_ reducer: VerdictReducer, _ judgements: [Judgement]) {
        let own = judgements.suffix(self.resolverAddresses.count)
        let verdicts = zip(self.resolverAddresses, own).map {
            AddressVerdict(address: $0, verdict: reducer.address($0, $1))
        }
        let before = self.resolverVerdict.level
        self.resolverVerdict = VerdictReducer.best(verdicts) ?? .unknown
        if before < .routed, self.resolverVerdict.level >= .routed { self.askNames(.all) }
    }

    // The kernel prefers a dead default to a live one with a higher metric; worth a word to whoever looks.
    private func hidesLiveDefault(_ reducer: VerdictReducer, _ own: [Judgement], _ sentinels: [IPAddress]) -> Bool {
        guard case .failed(_, let dead?) = own.first, let sentinel = sentinels.first else { return false }
        let others = reducer.surroundings.usableLinks(besides: dead).prefix(8)
        let questions = others.map { self.parts.configuration.asker.question(sentinel, link: $0) }
        var isLive = false
        _ = self.kernel.lookUp(questions[...]) { _, lookup in
            if case .routed = reducer.judge(lookup, of: sentinel) { isLive = true }
        }
        return isLive
    }

    // MARK: Settling

    func times(for path: NetworkPath?) -> VerdictDebouncer.Times {
        guard let path, self.flaps.isFlapping(path.index, path.generation, at: self.kernel.now) else { return .usual }
        return .flapping
    }

    private func settle(
        _ families: [ReachabilityStatus.Family], detection: Duration?
    ) -> [(PathEvent.Scope, VerdictDebouncer.Effect)] {
        let global = ReachabilityStatus.global(over: families)
        var told: [(PathEvent.Scope, VerdictDebouncer.Effect)] = []
        for entry in families {
            let input = VerdictDebouncer.Input.judged(
                entry.verdict, self.times(for: entry.verdict.path), detection: detection)
            let effects = self.familyHolds[entry.family, default: VerdictDebouncer()].handle(input, at: self.kernel.now)
            told += effects.map { (.family(entry.family), $0) }
        }
        let input = VerdictDebouncer.Input.judged(global, self.times(for: global.path), detection: detection)
        let effects = self.globalHold.handle(input, at: self.kernel.now)
        self.writeFamilies()
        return effects.map { (.global, $0) } + told
    }

    /// Lets what has become stable be known.
    func settle() {
        var told: [(PathEvent.Scope, VerdictDebouncer.Effect)] = []
        told += self.globalHold.handle(.tick, at: self.kernel.now).map { (.global, $0) }
        for family in AddressFamily.allCases {
            let effects = self.familyHolds[family, default: VerdictDebouncer()].handle(.tick, at: self.kernel.now)
            told += effects.map { (.family(family), $0) }
        }
        self.writeFamilies()
        self.settleTargets()
        self.tell(told)
    }

    private func tell(_ told: [(PathEvent.Scope, VerdictDebouncer.Effect)]) {
        for (scope, effect) in told {
            guard case .tellPeople(let from, let lasted, let detection) = effect else { continue }
            let to = self.verdictForPeople(scope)
            if scope == .global { self.noteNewPath(from: from, to: to) }
            self.publish(scope, from: from, to: to, lasted, detection)
        }
        self.armHold()
    }

    private func verdictForPeople(_ scope: PathEvent.Scope) -> Verdict {
        switch scope {
        case .global: self.globalHold.people.verdict ?? .unknown
        case .family(let family): self.familyHolds[family]?.people.verdict ?? .unknown
        case .target: .unknown
        }
    }

    func publish(
        _ scope: PathEvent.Scope, from: Verdict?, to: Verdict, _ lasted: Duration?, _ detection: Duration?
    ) {
        let event = PathEvent(scope: scope, from: from ?? .unknown, to: to, lasted: lasted, detection: detection)
        self.parts.bus.publish(.path(event))
    }

    private func noteNewPath(from: Verdict?, to: Verdict) {
        if from != nil, from?.level != to.level {
            let wall = self.parts.time.wall()
            self.board.write { $0.status.since = wall }
        }
        guard to.level >= .routed, self.isOtherNetwork(from, to), from != nil else { return }
        self.readResolvers()
        self.askAnew()
    }

    // What checks find out about the same way changes no name, except that a portal no longer answers for everybody.
    private func isOtherNetwork(_ from: Verdict?, _ to: Verdict) -> Bool {
        guard let way = to.path, let family = way.source?.family else { return true }
        let before = self.ways.updateValue(way, forKey: family)
        guard let from, from.level >= .routed, from.level != .portal else { return true }
        return !(before?.isSamePath(as: way) ?? false)
    }

    /// Asks for every name again, because another network may have other answers.
    func askAnew() {
        self.parts.resolver.invalidate()
        self.askNames(.all)
    }

    func armHold() {
        let holds = [self.globalHold.deadline, self.targetDeadline] + self.familyHolds.values.map(\.deadline)
        guard let first = holds.compactMap({ $0 }).min() else { return self.disarm(.hold) }
        self.arm(.hold, at: first)
    }
}
