internal import TidegateCore

/// The debounced verdict of each family, and of the host as a whole.
struct ScopeVerdicts {
    private var global = VerdictDebouncer()
    private var families: [AddressFamily: VerdictDebouncer] = [:]
    // By family, the path of the host's last routed verdict.
    private var paths: [AddressFamily: NetworkPath.Identity] = [:]

    /// The published verdict of the host as a whole.
    var publishedGlobal: Verdict { self.global.published.verdict ?? .unknown }

    /// The published verdicts, IPv4 first.
    var publishedFamilies: [ReachabilityStatus.Family] {
        AddressFamily.allCases.map { .init(family: $0, verdict: self.families[$0]?.published.verdict ?? .unknown) }
    }

    /// The verdict of each family that gates go by; a family that was never evaluated is absent.
    var gatingFamilies: [AddressFamily: Verdict] { self.families.compactMapValues(\.gating.verdict) }

    /// The level of each family that gates go by.
    var gatingLevels: [ReachabilityLevel] { AddressFamily.allCases.map(self.gatingLevel) }

    /// The level of a family that gates go by.
    func gatingLevel(_ family: AddressFamily) -> ReachabilityLevel {
        self.families[family]?.gating.verdict?.level ?? .unknown
    }

    /// When the next pending gain becomes stable; nil if none is pending.
    var deadline: MonotonicTime? {
        ([self.global.deadline] + self.families.values.map(\.deadline)).compactMap(\.self).min()
    }

    /// Records the families' new verdicts; returns the changes to publish, the global one first.
    ///
    /// `published` are shown instead of those that gates go by. `times` says how long a gain over a path has to be stable.
    mutating func update(
        _ verdicts: [ReachabilityStatus.Family], published: [ReachabilityStatus.Family]? = nil,
        times: (NetworkPath?) -> VerdictDebouncer.Times, detection: Duration?,
        at now: MonotonicTime
    ) -> [PathEvent] {
        var changes: [PathEvent] = []
        for (entry, shown) in zip(verdicts, published ?? verdicts) {
            let input = VerdictDebouncer.Input.verdict(
                entry.verdict, published: shown.verdict, times(entry.verdict.path), detection: detection)
            changes += self.handle(input, of: entry.family, at: now)
        }
        let global = ReachabilityStatus.global(over: verdicts)
        let shown = ReachabilityStatus.global(over: published ?? verdicts)
        return self.handleGlobal(.verdict(global, published: shown, times(global.path), detection: detection), at: now)
            + changes
    }

    /// True if one of these changes means another network, where names may have other addresses.
    mutating func isNewNetwork(_ changes: [PathEvent]) -> Bool {
        changes.reduce(false) { $1.scope == .global && self.isNewNetwork($1) || $0 }
    }

    // A change of the level over the same path means none, except that a portal which is gone no longer answers for
    // every name. The first verdict does not either: no name was resolved before it.
    private mutating func isNewNetwork(_ change: PathEvent) -> Bool {
        guard change.to.level >= .routed else { return false }
        let isFirst = change.lasted == nil
        guard let path = change.to.path, let family = path.source?.family else { return !isFirst }
        let before = self.paths.updateValue(path.identity, forKey: family)
        guard change.from.level >= .routed, change.from.level != .portal else { return !isFirst }
        return before != path.identity && !isFirst
    }

    /// Lets pending gains that are stable take effect; returns the changes to publish.
    mutating func tick(at now: MonotonicTime) -> [PathEvent] {
        let global = self.handleGlobal(.tick, at: now)
        return AddressFamily.allCases.reduce(into: global) { $0 += self.handle(.tick, of: $1, at: now) }
    }

    private mutating func handleGlobal(_ input: VerdictDebouncer.Input, at now: MonotonicTime) -> [PathEvent] {
        let effects = self.global.handle(input, at: now)
        return effects.compactMap { PathEvent(.global, $0, to: self.global.published.verdict) }
    }

    private mutating func handle(
        _ input: VerdictDebouncer.Input, of family: AddressFamily, at now: MonotonicTime
    ) -> [PathEvent] {
        let effects = self.families[family, default: VerdictDebouncer()].handle(input, at: now)
        return effects.compactMap { PathEvent(.family(family), $0, to: self.families[family]?.published.verdict) }
    }
}

extension PathEvent {
    /// The event of a debouncer's effect; nil if nothing is to be published.
    init?(_ scope: Scope, _ effect: VerdictDebouncer.Effect, to verdict: Verdict?) {
        guard case .published(let from, let lasted, let detection) = effect else { return nil }
        self.init(
            scope: scope, from: from ?? .unknown, to: verdict ?? .unknown, lasted: lasted, detection: detection)
    }
}
