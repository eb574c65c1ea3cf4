internal import TidegateCore

/// The host names of targets: their addresses, the targets that need them, and when to resolve them again.
struct HostnameTable {
    /// The state of a name.
    struct Name {
        var addresses: [IPAddress] = []
        var failure: ResolveFailure?
        /// The targets with this host.
        fileprivate(set) var targets: Set<Target> = []
        fileprivate var isResolving = false
        // The path changed while the lookup was running, so its answer may belong to the old network.
        fileprivate var isAnswerOutdated = false
        fileprivate var failures = 0
        /// When to resolve it again.
        fileprivate(set) var deadline: MonotonicTime?

        /// True once the resolver has answered, with addresses or a failure.
        var isResolved: Bool { !self.addresses.isEmpty || self.failure != nil }
    }

    /// Which names to resolve.
    enum Choice {
        /// Names that were never resolved.
        case new
        /// Names that are due.
        case due(MonotonicTime)
        /// All names, because the network has changed.
        case all
    }

    /// How long an answer without a known time to live is used; the resolver caches it equally long.
    static let interval = DNSTTL.unknown
    // Finding the names that are due requires scanning all of them.
    private static let scanInterval = Duration.milliseconds(250)

    private var names: [String: Name] = [:]
    private var new: Set<String> = []
    private var earliestScan = MonotonicTime(nanoseconds: 0)
    /// When to scan for due names; may be early, never late.
    private(set) var deadline: MonotonicTime?

    subscript(name: String) -> Name? { self.names[name] }

    /// Adds a target; `known` are addresses from an earlier lookup.
    mutating func add(_ target: Target, known: [IPAddress]?) {
        if self.names[target.host] == nil { self.new.insert(target.host) }
        self.names[target.host, default: Name()].targets.insert(target)
        if let known, self.names[target.host]?.addresses.isEmpty ?? true { self.names[target.host]?.addresses = known }
    }

    /// Removes a target, and its name if no other target has it.
    mutating func remove(_ target: Target) {
        self.names[target.host]?.targets.remove(target)
        guard self.names[target.host]?.targets.isEmpty ?? false else { return }
        self.names[target.host] = nil
        self.new.remove(target.host)
    }

    /// The names to resolve now; marks them as being resolved.
    mutating func take(_ choice: Choice) -> [String] {
        let chosen: [String]
        switch choice {
        case .new: chosen = Array(self.new)
        case .due(let now):
            self.earliestScan = now + HostnameTable.scanInterval
            chosen = self.names.filter { $0.value.deadline.map { $0 <= now } ?? false }.map(\.key)
        case .all:
            for name in self.names.keys where self.names[name]?.isResolving ?? false {
                self.names[name]?.isAnswerOutdated = true
            }
            chosen = self.names.filter { !$0.value.isResolving }.map(\.key)
        }
        for name in chosen {
            self.new.remove(name)
            self.names[name]?.isResolving = true
            self.names[name]?.deadline = nil
        }
        if case .due = choice {
            self.deadline = nil
            self.schedule(self.names.values.lazy.compactMap(\.deadline).min())
        }
        return chosen
    }

    /// Records an answer; true if the addresses have changed.
    ///
    /// A failure keeps the last good addresses; the name is resolved again soon, with exponential backoff.
    mutating func record(
        _ result: Result<[IPAddress], ResolveFailure>, for name: String, at now: MonotonicTime
    ) -> Bool {
        guard var known = self.names[name] else { return false }
        let before = known.addresses
        known.isResolving = false
        switch result {
        case .success(let addresses):
            known.addresses = addresses
            known.failure = nil
            known.failures = 0
            known.deadline = now + HostnameTable.interval
        case .failure(let failure):
            known.failure = failure
            known.failures += 1
            known.deadline = now + min(HostnameTable.interval, .seconds(1) * (1 << min(known.failures - 1, 6)))
        }
        if known.isAnswerOutdated { self.new.insert(name) }
        known.isAnswerOutdated = false
        self.names[name] = known
        self.schedule(known.deadline)
        return known.addresses != before
    }

    /// Records how long the last answer is valid.
    mutating func recordTTL(_ timeToLive: Duration, of name: String, at now: MonotonicTime) {
        // While the name is being resolved again, or its resolvers fail, the last answer's time to live no longer
        // matters.
        guard let known = self.names[name], !known.isResolving, known.failure == nil, known.deadline != nil else {
            return
        }
        self.names[name]?.deadline = now + DNSTTL.clamped(timeToLive)
        self.schedule(self.names[name]?.deadline)
    }

    // Thousands of names, each with its own time, are checked together. An answer only moves the deadline forward,
    // because finding the earliest one would require scanning every name.
    private mutating func schedule(_ moment: MonotonicTime?) {
        guard let moment = moment.map({ max($0, self.earliestScan) }) else { return }
        self.deadline = min(self.deadline ?? moment, moment)
    }
}
