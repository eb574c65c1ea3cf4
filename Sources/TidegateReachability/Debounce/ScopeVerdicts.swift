internal import TidegateCore

/// The debounced verdict of each family, and of the host as a whole.
struct ScopeVerdicts {
    // Debouncers for the host as a whole and for each family.
    private var debouncers: [PathEvent.Scope: VerdictDebouncer] = [:]
    // The path of the host's last routed verdict, by family.
    private var paths: [AddressFamily: NetworkPath.Identity] = [:]

    /// The published verdict of the host as a whole.
    var publishedGlobal: Verdict { self.debouncers[.global]?.published.verdict ?? .unknown }

    /// The published verdicts, IPv4 first.
    var publishedFamilies: [ReachabilityStatus.Family] {
        AddressFamily.allCases.map {
            .init(family: $0, verdict: self.debouncers[.family($0)]?.published.verdict ?? .unknown)
        }
    }

    /// Each family's verdict for gates; families that were never evaluated are absent.
    var gatingFamilies: [AddressFamily: Verdict] {
        AddressFamily.allCases.reduce(into: [:]) { $0[$1] = self.debouncers[.family($1)]?.gating.verdict }
    }

    /// Each family's level for gates.
    var gatingLevels: [ReachabilityLevel] { AddressFamily.allCases.map(self.gatingLevel) }

    /// A family's level for gates.
    func gatingLevel(_ family: AddressFamily) -> ReachabilityLevel {
        self.debouncers[.family(family)]?.gating.verdict?.level ?? .unknown
    }

    /// When the next pending gain becomes stable; nil if none is pending.
    var deadline: MonotonicTime? { self.debouncers.values.compactMap(\.deadline).min() }

    /// Records the families' new verdicts; returns the changes to publish, the global one first.
    ///
    /// `published` replaces the verdicts for gates in the status. `times` returns how long a gain over a path must be
    /// stable.
    mutating func update(
        _ verdicts: [ReachabilityStatus.Family], published: [ReachabilityStatus.Family]? = nil,
        times: (NetworkPath?) -> VerdictDebouncer.Times, detection: Duration?,
        at now: MonotonicTime
    ) -> [PathEvent] {
        var changes: [PathEvent] = []
        for (entry, shown) in zip(verdicts, published ?? verdicts) {
            let input = VerdictDebouncer.Input.verdict(
                entry.verdict, published: shown.verdict, times(entry.verdict.path), detection: detection)
            changes += self.handle(input, of: .family(entry.family), at: now)
        }
        let global = ReachabilityStatus.global(over: verdicts)
        let shown = ReachabilityStatus.global(over: published ?? verdicts)
        let input = VerdictDebouncer.Input.verdict(global, published: shown, times(global.path), detection: detection)
        return self.handle(input, of: .global, at: now) + changes
    }

    /// True if one of these changes indicates another network, where names may have other addresses.
    mutating func isNewNetwork(_ changes: [PathEvent]) -> Bool {
        changes.reduce(false) { $1.scope == .global && self.isNewNetwork($1) || $0 }
    }

    // A changed level over the same path is still the same network, unless it ends a portal, which answered for every
    // name. The first verdict is not a change either: no name was resolved before it.
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
        let scopes = [.global] + AddressFamily.allCases.map(PathEvent.Scope.family)
        return scopes.reduce(into: []) { $0 += self.handle(.tick, of: $1, at: now) }
    }

    private mutating func handle(
        _ input: VerdictDebouncer.Input, of scope: PathEvent.Scope, at now: MonotonicTime
    ) -> [PathEvent] {
        let effects = self.debouncers[scope, default: VerdictDebouncer()].handle(input, at: now)
        return effects.compactMap { PathEvent(scope, $0, to: self.debouncers[scope]?.published.verdict) }
    }
}

extension PathEvent {
    /// Creates the event of a debouncer's effect; nil if there is nothing to publish.
    init?(_ scope: Scope, _ effect: VerdictDebouncer.Effect, to verdict: Verdict?) {
        guard case .published(let from, let lasted, let detection) = effect else { return nil }
        self.init(
            scope: scope, from: from ?? .unknown, to: verdict ?? .unknown, lasted: lasted, detection: detection)
    }
}
