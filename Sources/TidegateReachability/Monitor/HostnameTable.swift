internal import TidegateCore

/// What the names of targets resolve to, who needs them, and when to ask again.
struct HostnameTable {
    /// What is known about a name.
    struct Name {
        var addresses: [IPAddress] = []
        var failure: ResolveFailure?
        /// The targets with this host.
        fileprivate(set) var targets: Set<Target> = []
        fileprivate var isAsked = false
        // The path changed while the question was under way: the answer may be the old path's.
        fileprivate var isAnswerDated = false
        fileprivate var failures = 0
        /// When to ask again.
        fileprivate(set) var deadline: MonotonicTime?

        /// True once the resolver has answered, well or badly.
        var isSettled: Bool { !self.addresses.isEmpty || self.failure != nil }
    }

    /// Which names to ask for.
    enum Choice {
        /// Those never asked for.
        case new
        /// Those whose time has come.
        case due(MonotonicTime)
        /// All, because the path is another.
        case all
    }

    /// How long an answer is good for here while nobody says more; the resolver remembers as long.
    static let interval = DNSTTL.unknown

    private var names: [String: Name] = [:]
    private var new: Set<String> = []
    // Looking for those that are due costs a look at all of them.
    private static let pause = Duration.milliseconds(250)
    private var earliestLook = MonotonicTime(nanoseconds: 0)

    subscript(name: String) -> Name? { self.names[name] }

    /// Counts a target in; `known` are addresses from before.
    mutating func add(_ target: Target, known: [IPAddress]?) {
        if self.names[target.host] == nil { self.new.insert(target.host) }
        self.names[target.host, default: Name()].targets.insert(target)
        if let known, self.names[target.host]?.addresses.isEmpty ?? true { self.names[target.host]?.addresses = known }
    }

    /// Counts a target out; a name that nobody needs is forgotten.
    mutating func remove(_ target: Target) {
        self.names[target.host]?.targets.remove(target)
        guard self.names[target.host]?.targets.isEmpty ?? false else { return }
        self.names[target.host] = nil
        self.new.remove(target.host)
    }

    /// Takes out the names to ask for now.
    mutating func take(_ choice: Choice) -> [String] {
        let chosen: [String]
        switch choice {
        case .new: chosen = Array(self.new)
        case .due(let now):
            self.earliestLook = now + HostnameTable.pause
            chosen = self.names.filter { $0.value.deadline.map { $0 <= now } ?? false }.map(\.key)
        case .all:
            for name in self.names.keys where self.names[name]?.isAsked ?? false {
                self.names[name]?.isAnswerDated = true
            }
            chosen = self.names.filter { !$0.value.isAsked }.map(\.key)
        }
        for name in chosen {
            self.new.remove(name)
            self.names[name]?.isAsked = true
            self.names[name]?.deadline = nil
        }
        return chosen
    }

    /// Takes an answer in; true where addresses changed.
    ///
    /// A failure keeps the last good addresses, and is asked again soon, but ever more slowly.
    mutating func answered(
        _ name: String, _ result: Result<[IPAddress], ResolveFailure>, at now: MonotonicTime
    ) -> Bool {
        guard var known = self.names[name] else { return false }
        let before = known.addresses
        known.isAsked = false
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
        if known.isAnswerDated { self.new.insert(name) }
        known.isAnswerDated = false
        self.names[name] = known
        return known.addresses != before
    }

    /// Takes in how long the last answer is good for.
    mutating func lasts(_ name: String, for life: Duration, at now: MonotonicTime) {
        // While it is asked for again, or its servers are silent, its time does not matter any more.
        guard let known = self.names[name], !known.isAsked, known.failure == nil, known.deadline != nil else { return }
        self.names[name]?.deadline = now + DNSTTL.clamped(life)
    }

    /// When to look for names that are due by `deadline`: thousands, each with a time of its own, go together.
    func look(for deadline: MonotonicTime) -> MonotonicTime { max(deadline, self.earliestLook) }

    /// When the next name has to be asked for again.
    var nextDeadline: MonotonicTime? { self.names.values.lazy.compactMap(\.deadline).min() }
}
