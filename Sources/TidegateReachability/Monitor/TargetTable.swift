internal import TidegateCore
internal import TidegateNetwork

/// The targets in force, what their names resolve to, and which questions they ask of the kernel.
struct TargetTable {
    /// A target in force.
    struct Entry {
        let target: Target
        /// Configured targets are part of the status and of events; the others exist for their watches.
        var isConfigured: Bool
        var watches: [UInt64: @Sendable (TargetVerdict) -> Void] = [:]
        var hold = VerdictDebouncer()
        var addresses: [AddressVerdict] = []
        /// The addresses to judge; those of the resolvers while the name has none.
        fileprivate(set) var questions: Range<Int> = 0..<0

        /// True where gates are open to hosts that only a link can lead to.
        var leadsOut: Bool {
            guard let level = self.hold.gates.verdict?.level, level >= .routed, !self.addresses.isEmpty else {
                return false
            }
            return self.addresses.allSatisfy { !$0.verdict.notes.contains(.thisHost) && !$0.address.isLinkLocal }
        }
    }

    private let asker: Asker
    private(set) var entries: [Entry] = []
    private(set) var names = HostnameTable()
    private var positions: [Target: Int] = [:]
    private var targetsByWatch: [UInt64: Target] = [:]
    private var plan: [RouteQuestion]?

    init(configured: [Target], asker: Asker = Asker()) {
        self.asker = asker
        for target in configured where self.positions[target] == nil {
            self.append(Entry(target: target, isConfigured: true), known: nil)
        }
    }

    /// Adds a watch; the target's position.
    mutating func watch(
        _ target: Target, id: UInt64, known: [IPAddress]?, sink: @escaping @Sendable (TargetVerdict) -> Void
    ) -> Int {
        self.targetsByWatch[id] = target
        if let position = self.positions[target] {
            self.entries[position].watches[id] = sink
            return position
        }
        var entry = Entry(target: target, isConfigured: false)
        entry.watches[id] = sink
        self.append(entry, known: known)
        return self.entries.count - 1
    }

    /// Ends a watch; the target, where nobody needs it any more.
    mutating func unwatch(_ id: UInt64) -> Target? {
        guard let target = self.targetsByWatch.removeValue(forKey: id), let position = self.positions[target] else {
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

    /// Takes out the names to ask for now.
    mutating func takeNames(_ choice: HostnameTable.Choice) -> [String] { self.names.take(choice) }

    /// Takes an answer in; true where addresses changed.
    mutating func answered(
        _ name: String, _ result: Result<[IPAddress], ResolveFailure>, at now: MonotonicTime
    ) -> Bool {
        let isFirst = self.names[name]?.addresses.isEmpty ?? true
        guard self.names.answered(name, result, at: now) else { return false }
        self.plan = nil
        // So far the resolvers were judged in the target's place.
        if isFirst { for position in self.positions(of: name) { self.entries[position].hold.startAnew() } }
        return true
    }

    /// Takes in how long the last answer about a name is good for.
    mutating func lasts(_ name: String, for life: Duration, at now: MonotonicTime) {
        self.names.lasts(name, for: life, at: now)
    }

    /// Where the targets with a name are.
    func positions(of name: String) -> [Int] { self.names[name]?.targets.compactMap { self.positions[$0] } ?? [] }

    /// True once every configured name was answered.
    var isSettled: Bool {
        self.entries.allSatisfy { entry in
            !entry.isConfigured || entry.target.address != nil || self.names[entry.target.host]?.isSettled ?? true
        }
    }

    // MARK: Questions

    /// What one target asks of the kernel; nothing while its name has no address.
    func questions(of target: Target) -> [RouteQuestion] {
        if let address = target.address { return [self.asker.question(address, port: target.port)] }
        return self.names[target.host]?.addresses.map { self.asker.question($0, port: target.port) } ?? []
    }

    /// How many questions the last ``questions()`` had.
    var questionCount: Int { self.plan?.count ?? 0 }

    /// Everything to ask of the kernel, every entry knowing its part; the parts follow each other.
    mutating func questions() -> [RouteQuestion] {
        if let plan = self.plan { return plan }
        var questions: [RouteQuestion] = []
        for position in self.entries.indices {
            let start = questions.count
            questions += self.questions(of: self.entries[position].target)
            self.entries[position].questions = start..<questions.count
        }
        self.plan = questions
        return questions
    }

    private mutating func append(_ entry: Entry, known: [IPAddress]?) {
        self.positions[entry.target] = self.entries.count
        self.entries.append(entry)
        self.plan = nil
        if entry.target.address == nil { self.names.add(entry.target, known: known) }
    }

    private mutating func remove(at position: Int) {
        let target = self.entries[position].target
        self.entries.swapAt(position, self.entries.count - 1)
        self.entries.removeLast()
        self.positions[target] = nil
        if position < self.entries.count { self.positions[self.entries[position].target] = position }
        self.plan = nil
        if target.address == nil { self.names.remove(target) }
    }
}
