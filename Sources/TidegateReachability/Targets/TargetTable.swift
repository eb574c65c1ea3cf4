internal import TidegateCore
internal import TidegateNetwork

/// The targets that are configured or watched, with their verdicts, watches and lookups.
struct TargetTable {
    /// Receives a target's verdict.
    typealias Handler = @Sendable (TargetVerdict) -> Void

    private let context: LookupContext
    private(set) var entries: [TargetEntry] = []
    /// The targets' names.
    var hostnames = HostnameTable()
    /// The best verdict over the resolvers, used for targets whose name has no address.
    var resolverVerdict = Verdict.unknown
    private var positions: [Target: Int] = [:]
    // The configured targets, by number; they move when a watch before them ends.
    private let numbered: [Target]
    private var targetsByWatch: [UInt64: Target] = [:]
    // Rebuilt when targets or addresses change.
    private var cachedQuestions: [RouteQuestion]?
    /// When the next pending gain becomes stable; may be early, never late: with thousands of targets a search would
    /// cost too much.
    private(set) var deadline: MonotonicTime?

    init(configured: [Target], context: LookupContext = LookupContext()) {
        self.context = context
        var seen: Set<Target> = []
        self.numbered = configured.filter { seen.insert($0).inserted }
        for (number, target) in self.numbered.enumerated() {
            self.append(TargetEntry(target: target, number: number), known: nil)
        }
    }

    // MARK: Watches

    /// Adds a watch; returns the target's position.
    mutating func watch(_ target: Target, id: UInt64, known: [IPAddress]?, handler: @escaping Handler) -> Int {
        self.targetsByWatch[id] = target
        if let position = self.positions[target] {
            self.entries[position].watches[id] = handler
            return position
        }
        var entry = TargetEntry(target: target, number: nil)
        entry.watches[id] = handler
        self.append(entry, known: known)
        return self.entries.count - 1
    }

    /// Ends a watch; returns the target if that removed it.
    mutating func unwatch(_ id: UInt64) -> Target? {
        guard let target = self.targetsByWatch.removeValue(forKey: id), let position = self.positions[target] else {
            return nil
        }
        self.entries[position].watches[id] = nil
        guard self.entries[position].watches.isEmpty, !self.entries[position].isConfigured else { return nil }
        self.remove(at: position)
        return target
    }

    // MARK: Verdicts

    /// Records the verdicts on a target's addresses; without any, the verdict on the resolvers counts.
    ///
    /// Returns the effects; nil if nothing has changed. `times` returns how long a gain over a path must be stable.
    mutating func update(
        _ position: Int, _ addresses: [AddressVerdict], times: (NetworkPath?) -> VerdictDebouncer.Times,
        detection: () -> Duration?, at now: MonotonicTime
    ) -> [VerdictDebouncer.Effect]? {
        let verdict = VerdictReducer.best(addresses) ?? self.resolverVerdict
        // Findings over a lost path prove nothing about the next one.
        if verdict.level < .routed { self.entries[position].found = nil }
        let published = self.entries[position].published(verdict)
        let isUnchanged =
            self.entries[position].addresses == addresses
            && self.entries[position].debouncer.isStable(at: verdict, published: published)
        if isUnchanged { return nil }
        let input = VerdictDebouncer.Input.verdict(
            verdict, published: published, times(verdict.path), detection: detection())
        return self.apply(input, addresses, to: position, at: now)
    }

    /// Shuts every target outside this host, because no link is usable; returns those that have changed.
    ///
    /// While the kernel takes a link down it answers no lookups, so gates do not wait for them; they follow with the
    /// same result.
    mutating func shutAll(
        _ reason: UnreachableReason, detection: Duration?, at now: MonotonicTime
    ) -> [(position: Int, effects: [VerdictDebouncer.Effect])] {
        let verdict = Verdict(level: .none, reason: reason)
        return self.entries.indices.filter { self.entries[$0].needsLink }.map { position in
            self.entries[position].found = nil
            let addresses = self.entries[position].addresses.map {
                AddressVerdict(address: $0.address, verdict: verdict)
            }
            let input = VerdictDebouncer.Input.verdict(verdict, .usual, detection: detection)
            return (position, self.apply(input, addresses, to: position, at: now))
        }
    }

    /// Opens a target's gate, because the kernel cannot be read; returns the effects.
    mutating func open(_ position: Int, at now: MonotonicTime) -> [VerdictDebouncer.Effect] {
        self.apply(.verdict(.unknown, .usual, detection: nil), [], to: position, at: now)
    }

    /// Lets pending gains that are stable take effect; returns the targets that have changed.
    mutating func tick(at now: MonotonicTime) -> [(position: Int, effects: [VerdictDebouncer.Effect])] {
        guard let due = self.deadline, due <= now else { return [] }
        self.deadline = nil
        var changes: [(Int, [VerdictDebouncer.Effect])] = []
        for position in self.entries.indices {
            if let deadline = self.entries[position].debouncer.deadline, deadline <= now {
                changes.append((position, self.entries[position].debouncer.handle(.tick, at: now)))
            }
            self.noteDeadline(of: position)
        }
        return changes
    }

    /// Records the result of a target's check; returns the effects.
    mutating func setFound(_ found: TargetEntry.Found?, at position: Int, now: MonotonicTime) -> [VerdictDebouncer
        .Effect]
    {
        self.entries[position].found = found
        guard let verdict = self.entries[position].debouncer.latest else { return [] }
        let input = VerdictDebouncer.Input.verdict(
            verdict, published: self.entries[position].published(verdict), .usual, detection: nil)
        return self.apply(input, self.entries[position].addresses, to: position, at: now)
    }

    private mutating func apply(
        _ input: VerdictDebouncer.Input, _ addresses: [AddressVerdict], to position: Int, at now: MonotonicTime
    ) -> [VerdictDebouncer.Effect] {
        self.entries[position].addresses = addresses
        defer { self.noteDeadline(of: position) }
        return self.entries[position].debouncer.handle(input, at: now)
    }

    private mutating func noteDeadline(of position: Int) {
        guard let deadline = self.entries[position].debouncer.deadline else { return }
        self.deadline = min(self.deadline ?? deadline, deadline)
    }

    /// Records the level of the family that a target's path uses; true if it has changed.
    mutating func setInternetLevel(_ level: ReachabilityLevel, at position: Int) -> Bool {
        guard self.entries[position].internetLevel != level else { return false }
        self.entries[position].internetLevel = level
        return true
    }

    // MARK: Names

    /// Records an answer; returns the targets to evaluate again.
    mutating func record(
        _ result: Result<[IPAddress], ResolveFailure>, for name: String, at now: MonotonicTime
    ) -> [Int] {
        let isFirst = self.hostnames[name]?.addresses.isEmpty ?? true
        let isChanged = self.hostnames.record(result, for: name, at: now)
        let positions = self.positions(of: name)
        guard isChanged else {
            return positions.filter { self.entries[$0].debouncer.published.verdict == nil }
        }
        self.cachedQuestions = nil
        // The previous verdict was that of the resolvers.
        if isFirst { for position in positions { self.entries[position].debouncer.reset() } }
        return positions
    }

    /// The position of a configured target.
    func position(ofConfigured number: Int) -> Int? {
        self.numbered.indices.contains(number) ? self.positions[self.numbered[number]] : nil
    }

    /// The positions of the targets with a name.
    func positions(of name: String) -> [Int] {
        self.hostnames[name]?.targets.compactMap { self.positions[$0] } ?? []
    }

    /// True if every configured target's name has been resolved or has failed to resolve.
    var isResolved: Bool {
        self.entries.allSatisfy { entry in
            !entry.isConfigured || entry.target.address != nil || self.hostnames[entry.target.host]?.isResolved ?? true
        }
    }

    // MARK: Lookups

    /// The lookups for one target; none while its name has no address.
    func questions(of target: Target) -> [RouteQuestion] {
        if let address = target.address { return [self.context.question(address, port: target.port)] }
        return self.hostnames[target.host]?.addresses.map { self.context.question($0, port: target.port) } ?? []
    }

    /// The number of lookups in the last ``questions()``.
    var questionCount: Int { self.cachedQuestions?.count ?? 0 }

    /// The lookups for every target, in the order of the entries; each entry knows its range.
    mutating func questions() -> [RouteQuestion] {
        if let questions = self.cachedQuestions { return questions }
        var questions: [RouteQuestion] = []
        for position in self.entries.indices {
            let start = questions.count
            questions += self.questions(of: self.entries[position].target)
            self.entries[position].questions = start..<questions.count
        }
        self.cachedQuestions = questions
        return questions
    }

    // MARK: Entries

    private mutating func append(_ entry: TargetEntry, known: [IPAddress]?) {
        self.positions[entry.target] = self.entries.count
        self.entries.append(entry)
        self.cachedQuestions = nil
        if entry.target.address == nil { self.hostnames.add(entry.target, known: known) }
    }

    private mutating func remove(at position: Int) {
        let target = self.entries[position].target
        self.entries.swapAt(position, self.entries.count - 1)
        self.entries.removeLast()
        self.positions[target] = nil
        if position < self.entries.count { self.positions[self.entries[position].target] = position }
        self.cachedQuestions = nil
        if target.address == nil { self.hostnames.remove(target) }
    }
}

/// A target in the table.
struct TargetEntry {
    /// The finding of the last check.
    enum Found: Hashable {
        case reached
        case failed(UnreachableReason)
    }

    let target: Target
    /// The target's position in the configuration, which makes it part of the status and of events; nil for targets
    /// that are only watched.
    let number: Int?
    /// The finding of the last check; nil if the target has not been checked since its path came up.
    var found: Found?
    var watches: [UInt64: TargetTable.Handler] = [:]
    var debouncer = VerdictDebouncer()
    var addresses: [AddressVerdict] = []
    /// The level of the family in use, as last passed to the watches.
    var internetLevel = ReachabilityLevel.unknown
    /// The lookups for this target, as a range of ``TargetTable/questions()``; empty while its name has no address.
    var questions: Range<Int> = 0..<0

    /// The verdict for gates, without the level of the family.
    ///
    /// Computed from parts, because thousands change together and a copy of the whole entry costs more than its lookup.
    var gating: TargetVerdict {
        TargetVerdict(
            target: self.target, verdict: self.debouncer.gating.verdict ?? .unknown, addresses: self.addresses)
    }

    var isConfigured: Bool { self.number != nil }

    /// The verdict to publish: only a check of the target itself raises it above `routed`.
    func published(_ verdict: Verdict) -> Verdict {
        guard verdict.level == .routed, let found = self.found else { return verdict }
        var verdict = verdict
        switch found {
        case .reached: verdict.level = .online
        case .failed(let reason): (verdict.level, verdict.reason) = (.limited, reason)
        }
        return verdict
    }

    /// True if gates are open and the target is another host, which only a link can lead to.
    var needsLink: Bool {
        guard let level = self.debouncer.gating.verdict?.level, level >= .routed, !self.addresses.isEmpty else {
            return false
        }
        return self.addresses.allSatisfy { !$0.verdict.notes.contains(.thisHost) && !$0.address.isLinkLocal }
    }
}
