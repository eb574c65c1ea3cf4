internal import TidegateCore
internal import TidegateTransfer

/// Per-target state: the path watch, the resolved addresses, and the tasks waiting for them.
final class TargetState {
    let number: UInt64
    let target: Target
    var watch: PathWatch?
    /// The known verdict of the target; nil before the first verdict.
    private(set) var known: KnownVerdict?
    /// The tasks whose current hop leads here.
    var tasks: [UInt64: UInt64] = [:]
    /// Tasks that wait for the first verdict.
    var awaitingVerdict = WaitingTasks()
    /// Tasks that found the gate shut, in order of arrival.
    var waiting = WaitingTasks()
    var name: NameLookup
    var pooled = PooledPath()
    var canary = CanaryRelease()
    /// The interface of the last verdict that had a path.
    private(set) var lastInterface: String?
    var timers: [PathTimer: TransferTimer] = [:]

    init(number: UInt64, target: Target) {
        self.number = number
        self.target = target
        self.name = NameLookup(literal: target.address)
    }

    var verdict: TargetVerdict? { self.known?.verdict }

    @discardableResult
    func update(_ verdict: TargetVerdict) -> KnownVerdict {
        let known = KnownVerdict(verdict)
        self.known = known
        self.name.verdictArrived()
        if let path = verdict.verdict.path, verdict.verdict.level >= .routed { self.lastInterface = path.interface }
        return known
    }

    /// False if no path leads to the target; read without copying the verdict.
    var hasRoute: Bool {
        guard let level = self.known?.verdict.verdict.level else { return true }
        return level == .unknown || level >= .routed
    }

    /// The verdict for an attempt to `remote`; without a path if only paths to other addresses are known.
    func verdict(for remote: IPAddress?) -> Verdict { self.known?.verdict(for: remote) ?? .unknown }
}

/// A received verdict, shared by reference between targets and attempts.
final class KnownVerdict {
    let verdict: TargetVerdict

    init(_ verdict: TargetVerdict) { self.verdict = verdict }

    /// The verdict on the target itself.
    ///
    /// While the monitor has no address for a name, its verdict is about the resolvers, whose path may differ.
    var ownVerdict: Verdict {
        guard self.verdict.addresses.isEmpty, self.verdict.target.address == nil else { return self.verdict.verdict }
        return self.verdict.verdict.withoutPath
    }

    /// The verdict on one address; without a path if the monitor does not know the address.
    func verdict(for remote: IPAddress?) -> Verdict {
        guard let remote, self.verdict.target.address == nil else { return self.ownVerdict }
        let own = self.verdict.addresses.first { $0.address == remote }
        return own?.verdict ?? self.verdict.verdict.withoutPath
    }
}

extension Verdict {
    fileprivate var withoutPath: Verdict {
        var verdict = self
        verdict.path = nil
        return verdict
    }
}

/// The addresses of one target's name, from the session's own resolver, and the tasks that wait for them.
struct NameLookup {
    private enum Addresses {
        case unknown
        case inProgress
        case known([IPAddress], until: MonotonicTime)
    }

    /// The address that is the target's name; nil if the name must be looked up.
    let literal: [IPAddress]?
    /// True from a network change until the next verdict: the last verdict's addresses may belong to the old network.
    private(set) var isVerdictOutdated = false
    private var addresses = Addresses.unknown
    /// Counts lookups, so that an answer from before a network change does not count as a new one.
    private var number = 0
    private var waiting = WaitingTasks()
    /// The addresses that recently did not answer, and until when they are tried last.
    private var silent: [IPAddress: MonotonicTime] = [:]

    /// How long an address that did not answer is tried last.
    private static let rest = Duration.seconds(30)

    init(literal: IPAddress?) { self.literal = literal.map { [$0] } }

    /// Records which addresses an attempt found silent or answering; `mute` accepted the connection and did not answer
    /// the handshake.
    mutating func tried(
        silent: [IPAddress], answered: IPAddress?, mute: IPAddress? = nil, at now: MonotonicTime
    ) {
        if !self.silent.isEmpty {
            self.silent = self.silent.filter { $0.value > now }
            if let answered { self.silent[answered] = nil }
        }
        for address in silent + self.alike(mute) { self.silent[address] = now + NameLookup.rest }
    }

    // A path that loses the large packets of a handshake loses those of the whole family.
    private func alike(_ mute: IPAddress?) -> [IPAddress] {
        guard let mute else { return [] }
        guard case .known(let all, _) = self.addresses, all.contains(where: { $0.family != mute.family }) else {
            return [mute]
        }
        return all.filter { $0.family == mute.family }
    }

    /// The addresses in order, with recently silent ones at the end.
    func silentLast(_ addresses: [IPAddress], at now: MonotonicTime) -> [IPAddress] {
        guard !self.silent.isEmpty else { return addresses }
        func isSilent(_ address: IPAddress) -> Bool { self.silent[address].map { $0 > now } ?? false }
        return addresses.filter { !isSilent($0) } + addresses.filter(isSilent)
    }

    mutating func verdictArrived() { self.isVerdictOutdated = false }

    /// The result of an earlier lookup, while it is fresh.
    func addresses(at now: MonotonicTime) -> [IPAddress]? {
        if case .known(let addresses, let until) = self.addresses, until > now { addresses } else { nil }
    }

    /// Adds a waiting task; true if a lookup must start.
    mutating func wait(_ task: UInt64) -> Bool {
        self.waiting.append(task)
        if case .inProgress = self.addresses { return false }
        return true
    }

    mutating func stopWaiting(_ task: UInt64) { self.waiting.remove(task) }

    /// Starts a lookup; returns its number.
    mutating func begin() -> Int {
        self.addresses = .inProgress
        self.number += 1
        return self.number
    }

    /// Takes an answer; returns the tasks that waited for it, or none if it belongs to an older lookup.
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

    /// Discards addresses of the old network; true if tasks wait, so that a new lookup must start.
    mutating func networkChanged() -> Bool {
        // A lookup over the old network may never be answered, or may return the old network's addresses.
        if case .inProgress = self.addresses { self.number += 1 }
        self.addresses = .unknown
        self.silent = [:]
        self.isVerdictOutdated = true
        return !self.waiting.isEmpty
    }
}

/// The path of the pool's connections to a target, and since when it is lost.
struct PooledPath {
    /// The verdict of the target at the launch of the last attempt.
    private var known: KnownVerdict?
    /// The generation of the connection pool at that time.
    private var generation = 0
    /// Since when no path leads to the target; nil if one does.
    private var lostSince: MonotonicTime?

    /// Records the launch of an attempt of this pool.
    mutating func launched(knowing known: KnownVerdict?, generation: Int) {
        self.known = known
        self.generation = generation
    }

    /// Resets the state for a new pool, which has no connections.
    mutating func forget() { self.known = nil }

    /// True if the pool's idle connections are lost with their path; records when the path is lost and restored.
    mutating func isStale(by newest: KnownVerdict, generation: Int, grace: Duration, at now: MonotonicTime) -> Bool {
        let verdict = newest.ownVerdict
        guard verdict.level != .unknown else { return false }
        guard verdict.level >= .routed else {
            if self.lostSince == nil { self.lostSince = now }
            return false
        }
        let outage = self.lostSince.map { now - $0 } ?? .zero
        self.lostSince = nil
        guard let known = self.known, self.generation == generation else { return false }
        if let used = known.ownVerdict.path, let path = verdict.path {
            return !used.isSamePath(as: path) || outage > grace
        }
        self.known = newest
        return outage > grace
    }
}

/// The order of tasks after an outage: one goes first, and the others follow when it has a connection.
struct CanaryRelease: Sendable {
    /// The task that goes first; nil if none does at the moment.
    private(set) var leader: UInt64?
    /// The tasks that wait for the first one.
    private(set) var followers = WaitingTasks()
    /// True while the next canary waits for its time.
    private(set) var isBetweenLeaders = false
    /// The number of consecutive canaries without a connection.
    private var failures = 0

    /// Starts releasing tasks in this order; returns those that follow later.
    mutating func release(_ tasks: [UInt64]) -> ArraySlice<UInt64> {
        let hasLeader = self.leader != nil || self.isBetweenLeaders
        if !hasLeader { self.leader = tasks.first }
        return tasks.dropFirst(hasLeader ? 0 : 1)
    }

    /// Adds a task that waits until the first one has a connection.
    mutating func follow(_ task: UInt64) { self.followers.append(task) }

    /// True if tasks follow; without followers there is no canary.
    mutating func isWaitedFor() -> Bool {
        if self.followers.isEmpty { self.leader = nil }
        return !self.followers.isEmpty
    }

    /// Ends the release; returns all followers.
    mutating func finish() -> [UInt64] { exchange(&self, with: CanaryRelease()).followers.all }

    /// Records a canary without a connection; returns the longest time until the next one goes.
    mutating func leaderFailed() -> Duration {
        self.leader = nil
        self.isBetweenLeaders = true
        self.failures += 1
        return min(.seconds(8), .milliseconds(250) * (1 << min(5, self.failures - 1)))
    }

    /// Takes the next follower; nil after the last one.
    mutating func nextFollower() -> UInt64? {
        self.isBetweenLeaders = false
        return self.followers.popFirst()
    }

    /// Makes the task the canary.
    mutating func lead(_ task: UInt64) { self.leader = task }
}
