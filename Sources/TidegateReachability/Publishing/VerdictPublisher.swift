internal import Synchronization
internal import TidegateCore
internal import TidegateNetwork

/// Writes the state that other threads read, publishes events, and calls the watches of targets.
final class VerdictPublisher {
    /// The consequences of new verdicts of the families: the changes to publish after gates are shut, and whether a
    /// level for gates has changed.
    typealias Update = (changes: [PathEvent], hasNewLevel: Bool)

    let bus: EventBus
    let store: ReachabilityStore
    let time: any TimeSource
    private var scopes = ScopeVerdicts()
    // The last published links, by index.
    private var links: [UInt32: Link] = [:]
    /// True after the first verdict.
    private(set) var isReady = false
    /// True once the verdict on a target was published; reset by the engine.
    var hasNewTarget = false

    init(bus: EventBus, store: ReachabilityStore, time: any TimeSource) {
        self.bus = bus
        self.store = store
        self.time = time
    }

    /// Records that there is a first verdict.
    func setReady() {
        guard !self.isReady else { return }
        self.isReady = true
        self.store.write { $0.isReady = true }
    }

    func setHealth(_ health: ReachabilityStatus.Health, _ state: NetlinkClient.NetlinkState) {
        self.store.write { content in
            content.status.health = health
            switch state {
            case .starting: break
            case .unavailable(let text): content.unavailableReason = text
            case .connected(let mode):
                content.unavailableReason = nil
                content.status.mode = mode
            }
        }
    }

    // MARK: Families and the host as a whole

    /// When the next pending gain of a family becomes stable; nil if none is pending.
    var deadline: MonotonicTime? { self.scopes.deadline }

    /// Changes the verdicts, and writes them together with the links, so that readers see one consistent state.
    func update(links: [Link], _ change: (inout ScopeVerdicts) -> [PathEvent]) -> Update {
        let levels = self.scopes.gatingLevels
        let changes = change(&self.scopes)
        let (global, families) = (self.scopes.publishedGlobal, self.scopes.publishedFamilies)
        let gating = self.scopes.gatingFamilies
        self.store.write { content in
            content.status.links = links
            content.status.global = global
            content.status.families = families
            content.gatingFamilies = gating
        }
        return (changes, levels != self.scopes.gatingLevels)
    }

    /// Publishes changes; true if they indicate another network.
    func publish(_ changes: [PathEvent]) -> Bool {
        for change in changes {
            if change.scope == .global, change.lasted != nil, change.from.level != change.to.level {
                let wall = self.time.wall()
                self.store.write { $0.status.since = wall }
            }
            self.bus.publish(.path(change))
        }
        return self.scopes.isNewNetwork(changes)
    }

    // MARK: Links

    /// Publishes changes of links, except excluded ones; the first links are not a change.
    func publishLinks(_ snapshot: NetworkSnapshot) {
        let before = self.links
        self.links = snapshot.links
        guard self.isReady else { return }
        for link in snapshot.sortedLinks where !link.isExcluded {
            let old = before[link.index].flatMap { $0.generation == link.generation ? $0 : nil }
            guard old.map({ !$0.isSameState(as: link) }) ?? true else { continue }
            self.bus.publish(.link(LinkEvent(from: old, to: link)))
        }
        for old in before.values where !old.isExcluded {
            guard snapshot.links[old.index]?.generation != old.generation else { continue }
            self.bus.publish(.link(LinkEvent(from: old, to: nil)))
        }
    }

    // MARK: Targets

    /// The verdict for the gate of a target.
    func gating(_ position: Int, in targets: TargetTable) -> TargetVerdict {
        var verdict = targets.entries[position].gating
        verdict.internetLevel = self.scopes.gatingLevel(verdict.family)
        return verdict
    }

    /// Writes a target's verdicts, calls its watches if the verdict for gates has changed, and publishes its change.
    func publish(_ position: Int, _ effects: [VerdictDebouncer.Effect], in targets: inout TargetTable) {
        let gating = self.gating(position, in: targets)
        self.write(position, in: targets, gating)
        let hasNewLevel = targets.setInternetLevel(gating.internetLevel, at: position)
        if effects.contains(.gatingChanged) || hasNewLevel && gating.verdict.level >= .routed {
            for handler in targets.entries[position].watches.values { handler(gating) }
        }
        guard targets.entries[position].isConfigured else { return }
        let verdict = targets.entries[position].debouncer.published.verdict
        for effect in effects {
            guard let change = PathEvent(.target(gating.target), effect, to: verdict) else { continue }
            self.hasNewTarget = true
            self.bus.publish(.path(change))
        }
    }

    /// Calls the watches of the targets whose family has a new level.
    func publishInternetLevels(in targets: inout TargetTable) {
        for position in targets.entries.indices {
            let level = self.gating(position, in: targets).internetLevel
            if targets.entries[position].internetLevel != level { self.publish(position, [], in: &targets) }
        }
    }

    private func write(_ position: Int, in targets: TargetTable, _ gating: TargetVerdict) {
        let target = gating.target
        guard targets.entries[position].isConfigured else {
            return self.store.write { $0.gatingTargets[target] = gating }
        }
        var published = gating
        published.verdict = targets.entries[position].debouncer.published.verdict ?? .unknown
        // The gate of a nonexistent name stays open, so that the attempt can report the error; here the status reports
        // it.
        let failure = gating.addresses.isEmpty ? targets.hostnames[target.host]?.failure : nil
        if let failure, published.verdict.level >= .routed {
            published.verdict = Verdict(level: .none, reason: failure.reason)
        }
        self.store.write { content in
            content.gatingTargets[target] = gating
            content.publishedTargets[target] = published
        }
    }

    func removeTarget(_ target: Target) {
        self.store.write { content in
            content.gatingTargets[target] = nil
            content.publishedTargets[target] = nil
        }
    }
}

extension Link {
    fileprivate func isSameState(as other: Link) -> Bool {
        self.isAdminUp == other.isAdminUp && self.hasCarrier == other.hasCarrier && self.operState == other.operState
            && self.reason == other.reason && self.name == other.name
    }
}

/// The state that other threads read; the netlink thread writes it, but for the quality.
final class ReachabilityStore: Sendable {
    /// The content of the store.
    struct Content {
        /// The published status, without targets.
        var status: ReachabilityStatus
        /// The configured targets, in order.
        var targetOrder: [Target] = []
        var publishedTargets: [Target: TargetVerdict] = [:]
        var gatingTargets: [Target: TargetVerdict] = [:]
        var gatingFamilies: [AddressFamily: Verdict] = [:]
        /// Addresses of this host, on links in any state.
        var heldAddresses: Set<IPAddress> = []
        /// The diagnosis of this host; nil until the first suspicion or measurement on the current path.
        var diagnosis: HostDiagnosis?
        /// The evidence of that diagnosis.
        var proof = HostProof()
        /// Why the kernel cannot be read; nil if it can.
        var unavailableReason: String?
        var isReady = false
    }

    private let content: Mutex<Content>
    private let lastWatch = Atomic<UInt64>(0)

    init(mode: ReachabilityStatus.Mode) {
        self.content = Mutex(Content(status: .unavailable(mode: mode)))
    }

    /// A number for a watch of a target.
    func newWatch() -> UInt64 { self.lastWatch.add(1, ordering: .relaxed).newValue }

    func read<Result: Sendable>(_ body: (borrowing Content) -> Result) -> Result {
        self.content.withLock { body($0) }
    }

    func write(_ body: (inout Content) -> Void) {
        self.content.withLock { body(&$0) }
    }

    /// The complete published status.
    var status: ReachabilityStatus {
        self.content.withLock { content in
            var status = content.status
            status.targets = content.targetOrder.map {
                content.publishedTargets[$0] ?? TargetVerdict(target: $0, verdict: .unknown)
            }
            return status
        }
    }
}
