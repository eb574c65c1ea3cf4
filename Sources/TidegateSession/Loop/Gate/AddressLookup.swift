internal import TidegateCore

// The addresses that attempts go to: those of the verdict, or else the resolver's.
extension PathGate {
    /// How long an answer is kept for other tasks: the resolver knows how long names are good for.
    private static let lookupTime = Duration.seconds(5)

    /// The addresses that an attempt goes to; nil while the resolver has to be asked.
    func addresses(of state: TargetState, at now: MonotonicTime) -> [IPAddress]? {
        if let literal = state.name.literal { return literal }
        if !state.name.isVerdictOutdated {
            // The verdict was about these; another answer could lead where no path was found.
            let reachable = self.paths.current(state.target).addresses.filter { $0.verdict.level >= .routed }
            if !reachable.isEmpty { return state.name.silentLast(reachable.map(\.address), at: now) }
        }
        return state.name.addresses(at: now).map { state.name.silentLast($0, at: now) }
    }

    /// The task waits for the addresses of its target's name; gives the question if it was not asked yet.
    func awaitAddresses(_ task: UInt64, _ gate: inout GateState, of state: TargetState) -> SessionEffect? {
        gate.isListed = true
        return state.name.wait(task) ? self.lookUp(state) : nil
    }

    func stopAwaitingAddresses(_ task: UInt64, _ gate: GateState) {
        if gate.isListed { gate.target?.name.stopWaiting(task) }
    }

    /// An answer of the resolver's; gives the tasks that waited for it.
    func resolved(
        _ result: Result<[IPAddress], ResolveFailure>, lookup: Int, of state: TargetState, at now: MonotonicTime
    ) -> [UInt64] {
        state.name.resolved(result, lookup: lookup, until: now + PathGate.lookupTime)
    }

    private func lookUp(_ state: TargetState) -> SessionEffect {
        .resolve(state.target.host, target: state.number, lookup: state.name.begin())
    }

    /// A new connection pool begins: addresses and paths of the old network do not count any more.
    func networkChanged() -> [SessionEffect] {
        var effects = [SessionEffect.forgetNames]
        for state in self.all {
            state.pooled.forget()
            if state.name.networkChanged() { effects.append(self.lookUp(state)) }
        }
        return effects
    }
}

/// The addresses of one target's name, as the session's own resolver gives them, and the tasks that wait for them.
struct NameLookup {
    private enum Addresses {
        case unknown
        case inProgress
        case known([IPAddress], until: MonotonicTime)
    }

    /// The address that is the target's name; nil for one that has to be looked up.
    let literal: [IPAddress]?
    /// True from a network change until the next verdict: the last one's addresses may be another network's.
    private(set) var isVerdictOutdated = false
    private var addresses = Addresses.unknown
    /// Counts lookups, so that an answer from before a network change is not taken for a new one.
    private var number = 0
    private var waiting = WaitingTasks()
    /// The addresses that did not answer lately, and until when they come last.
    private var silent: [IPAddress: MonotonicTime] = [:]

    /// How long an address that did not answer comes last.
    private static let rest = Duration.seconds(30)

    init(literal: IPAddress?) { self.literal = literal.map { [$0] } }

    /// An attempt found out which addresses answer.
    mutating func tried(silent: [IPAddress], answered: IPAddress?, at now: MonotonicTime) {
        if !self.silent.isEmpty {
            self.silent = self.silent.filter { $0.value > now }
            if let answered { self.silent[answered] = nil }
        }
        for address in silent { self.silent[address] = now + NameLookup.rest }
    }

    /// The addresses in their order, those that did not answer lately behind the others.
    func silentLast(_ addresses: [IPAddress], at now: MonotonicTime) -> [IPAddress] {
        guard !self.silent.isEmpty else { return addresses }
        func isSilent(_ address: IPAddress) -> Bool { self.silent[address].map { $0 > now } ?? false }
        return addresses.filter { !isSilent($0) } + addresses.filter(isSilent)
    }

    mutating func verdictArrived() { self.isVerdictOutdated = false }

    /// What an earlier lookup found, as long as that is fresh.
    func addresses(at now: MonotonicTime) -> [IPAddress]? {
        if case .known(let addresses, let until) = self.addresses, until > now { addresses } else { nil }
    }

    /// The task waits for the answer; true if a lookup has to begin.
    mutating func wait(_ task: UInt64) -> Bool {
        self.waiting.append(task)
        if case .inProgress = self.addresses { return false }
        return true
    }

    mutating func stopWaiting(_ task: UInt64) { self.waiting.remove(task) }

    /// A lookup begins; gives its number.
    mutating func begin() -> Int {
        self.addresses = .inProgress
        self.number += 1
        return self.number
    }

    /// An answer is here; gives the tasks that waited for it, and none if it is to an older question.
    mutating func resolved(
        _ result: Result<[IPAddress], ResolveFailure>, lookup: Int, until end: MonotonicTime
    ) -> [UInt64] {
        guard self.number == lookup else { return [] }
        switch result {
        case .success(let addresses): self.addresses = .known(addresses, until: end)
        case .failure: self.addresses = .unknown
        }
        return self.waiting.removeAll()
    }

    /// Addresses of the old network do not count; true if tasks wait, so that a new lookup has to begin.
    mutating func networkChanged() -> Bool {
        // What is being looked up over the old network may never be answered, or be answered for the wrong one.
        if case .inProgress = self.addresses { self.number += 1 }
        self.addresses = .unknown
        self.silent = [:]
        self.isVerdictOutdated = true
        return !self.waiting.isEmpty
    }
}
