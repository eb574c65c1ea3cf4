internal import TidegateCore

/// Finds the addresses that attempts go to: those of the verdict, or else the resolver's.
struct AddressLookup {
    /// How long an answer is kept for other tasks: the resolver knows how long names are good for.
    private static let lookupTime = Duration.seconds(5)

    private let gate: PathGate
    private let paths: any PathSource
    private let resolver: any NameResolver
    private let deliver: @Sendable (_ target: UInt64, PathGate.Event) -> Void

    init(
        gate: PathGate, paths: any PathSource, resolver: any NameResolver,
        deliver: @escaping @Sendable (_ target: UInt64, PathGate.Event) -> Void
    ) {
        self.gate = gate
        self.paths = paths
        self.resolver = resolver
        self.deliver = deliver
    }

    /// The addresses that an attempt goes to; nil while the resolver has to be asked.
    func addresses(of state: TargetState, at now: MonotonicTime) -> [IPAddress]? {
        if let literal = state.literalAddress { return literal }
        if !state.names.isVerdictOutdated {
            // The verdict was about these; another answer could lead where no path was found.
            let reachable = self.paths.current(state.target).addresses.filter { $0.verdict.level >= .routed }
            if !reachable.isEmpty { return reachable.map(\.address) }
        }
        if case .known(let addresses, let until) = state.names.addresses, until > now { return addresses }
        return nil
    }

    /// The task waits for the addresses of its target's name.
    func awaitAddresses(_ task: UInt64, _ gate: inout GateState, of state: TargetState) {
        gate.isListed = true
        state.names.waiting.append(task)
        if case .inProgress = state.names.addresses { return }
        self.lookUp(state)
    }

    func stopAwaitingAddresses(_ task: UInt64, _ gate: GateState) {
        if gate.isListed { gate.target?.names.waiting.removeAll { $0 == task } }
    }

    /// An answer of the resolver's; gives the tasks that waited for it.
    func resolved(
        _ result: Result<[IPAddress], ResolveFailure>, lookup: Int, of state: TargetState, at now: MonotonicTime
    ) -> [UInt64] {
        guard state.names.lookup == lookup else { return [] }
        defer { state.names.waiting = [] }
        switch result {
        case .success(let addresses):
            state.names.addresses = .known(addresses, until: now + AddressLookup.lookupTime)
        case .failure: state.names.addresses = .unknown
        }
        return state.names.waiting
    }

    private func lookUp(_ state: TargetState) {
        state.names.addresses = .inProgress
        state.names.lookup += 1
        let (deliver, number, lookup) = (self.deliver, state.number, state.names.lookup)
        self.resolver.resolve(state.target.host) { deliver(number, .resolved(lookup: lookup, $0)) }
    }

    /// A new connection pool began: addresses and paths of the old network do not count any more.
    func networkChanged() {
        self.resolver.invalidate()
        for state in self.gate.all {
            // What is being looked up over the old network may never be answered, or be answered for the wrong one.
            if case .inProgress = state.names.addresses { state.names.lookup += 1 }
            state.names.addresses = .unknown
            state.names.isVerdictOutdated = true
            state.connections.known = nil
            if !state.names.waiting.isEmpty { self.lookUp(state) }
        }
    }
}
