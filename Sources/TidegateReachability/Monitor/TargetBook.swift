internal import TidegateModel
internal import TidegateNetlink

/// The targets in force, what their names resolve to, and which questions they ask of the kernel.
struct TargetBook {
    /// A target in force.
    struct Entry {
        let target: Target
        /// Configured targets are part of the status and of events; the others exist for their watches.
        var isConfigured: Bool
        var watches: [UInt64: @Sendable (TargetVerdict) -> Void] = [:]
        var hold = HoldMachine()
        var addresses: [AddressVerdict] = []
        /// The addresses to judge; those of the resolvers while the name has none.
        fileprivate(set) var questions: Range<Int> = 0..<0
    }

    /// What is known about a name.
    struct Name {
        var addresses: [IPAddress] = []
        var failure: ResolveFailure?
        var isAsked = false
        var failures = 0

        /// True once the resolver has answered, well or badly.
        var isSettled: Bool { !self.addresses.isEmpty || self.failure != nil }
    }

    private(set) var entries: [Entry] = []
    private var positions: [Target: Int] = [:]
    private var positionsByWatch: [UInt64: Target] = [:]
    private(set) var names: [String: Name] = [:]
    private var plan: [RouteQuestion]?

    init(configured: [Target]) {
        for target in configured where self.positions[target] == nil {
            self.append(Entry(target: target, isConfigured: true))
        }
    }

    /// Adds a watch; the target's position.
    mutating func watch(
        _ target: Target, id: UInt64, known: [IPAddress]?, sink: @escaping @Sendable (TargetVerdict) -> Void
    ) -> Int {
        if self.positions[target] == nil { self.append(Entry(target: target, isConfigured: false)) }
        if target.address == nil, let known, self.names[target.host]?.addresses.isEmpty ?? true {
            self.names[target.host, default: Name()].addresses = known
            self.plan = nil
        }
        let position = self.positions[target] ?? 0
        self.entries[position].watches[id] = sink
        self.positionsByWatch[id] = target
        return position
    }

    /// Ends a watch; the target, where nobody needs it any more.
    mutating func unwatch(_ id: UInt64) -> Target? {
        guard let target = self.positionsByWatch.removeValue(forKey: id), let position = self.positions[target] else {
            return nil
        }
        self.entries[position].watches[id] = nil
        guard self.entries[position].watches.isEmpty, !self.entries[position].isConfigured else { return nil }
        self.remove(at: position)
        return target
    }

    /// True where this judgement would change nothing about an entry.
    func isSettled(_ position: Int, _ addresses: [AddressVerdict], _ verdict: Verdict) -> Bool {
        self.entries[position].addresses == addresses && self.entries[position].hold.isSettled(at: verdict)
    }

    mutating func update(_ position: Int, _ body: (inout Entry) -> Void) { body(&self.entries[position]) }

    // MARK: Names

    /// Names that have to be asked for: the new ones, or all of them.
    func namesToAsk(all: Bool) -> [String] {
        self.names.filter { !$0.value.isAsked && (all || !$0.value.isSettled) }.map(\.key)
    }

    mutating func asked(_ name: String) { self.names[name]?.isAsked = true }

    /// Takes an answer in; true where addresses changed.
    ///
    /// A failure keeps the last good addresses.
    mutating func answered(_ name: String, _ result: Result<[IPAddress], ResolveFailure>) -> Bool {
        guard var known = self.names[name] else { return false }
        let before = known.addresses
        known.isAsked = false
        switch result {
        case .success(let addresses):
            known.addresses = addresses
            known.failure = nil
            known.failures = 0
        case .failure(let failure):
            known.failure = failure
            known.failures += 1
        }
        self.names[name] = known
        guard known.addresses != before else { return false }
        self.plan = nil
        // So far the resolvers were judged in the target's place.
        if before.isEmpty {
            for position in self.entries.indices where self.entries[position].target.host == name {
                self.entries[position].hold.startAnew()
            }
        }
        return true
    }

    /// True once every configured name was answered.
    var isSettled: Bool {
        self.entries.allSatisfy { entry in
            !entry.isConfigured || entry.target.address != nil || self.names[entry.target.host]?.isSettled ?? true
        }
    }

    // MARK: Questions

    /// The addresses of a target; nil while its name has none.
    func addresses(of target: Target) -> [IPAddress]? {
        if let address = target.address { return [address] }
        guard let name = self.names[target.host], !name.addresses.isEmpty else { return nil }
        return name.addresses
    }

    /// Everything to ask of the kernel, every entry knowing its part.
    mutating func questions() -> [RouteQuestion] {
        if let plan = self.plan { return plan }
        var questions: [RouteQuestion] = []
        for position in self.entries.indices {
            let (start, target) = (questions.count, self.entries[position].target)
            questions += (self.addresses(of: target) ?? []).map { RouteQuestion($0, port: target.port) }
            self.entries[position].questions = start..<questions.count
        }
        self.plan = questions
        return questions
    }

    private mutating func append(_ entry: Entry) {
        self.positions[entry.target] = self.entries.count
        self.entries.append(entry)
        self.plan = nil
        if entry.target.address == nil, self.names[entry.target.host] == nil { self.names[entry.target.host] = Name() }
    }

    private mutating func remove(at position: Int) {
        let target = self.entries[position].target
        self.entries.swapAt(position, self.entries.count - 1)
        self.entries.removeLast()
        self.positions[target] = nil
        if position < self.entries.count { self.positions[self.entries[position].target] = position }
        self.plan = nil
        if !self.entries.contains(where: { $0.target.host == target.host }) { self.names[target.host] = nil }
    }
}
