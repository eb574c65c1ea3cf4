internal import TidegateAttribution
internal import TidegateCore

/// Decides when to check the internet and what the results mean, separately for each family.
///
/// After a success the next check follows after the policy's interval, after a failure with exponential backoff, and on
/// another path immediately.
struct InternetMachine {
    enum Input {
        /// The family's current default path; nil if it has none.
        case path(AddressFamily, NetworkPath?)
        /// A round of checks had this result.
        case finished(AddressFamily, round: Int, Connectivity)
        /// A request over the path succeeded at this moment, which counts as a check.
        case requestSucceeded(AddressFamily, at: MonotonicTime)
        /// A request failed: a good connectivity may no longer be valid.
        case requestFailed
        /// Time has passed.
        case tick
    }

    enum Effect: Hashable {
        /// Request every URL over this family.
        case check(AddressFamily, round: Int)
        /// The family's connectivity has changed to this.
        case level(AddressFamily, Connectivity)
        /// A check that began at this moment has had no answer for ``Thresholds/certainty``.
        case silent(since: MonotonicTime)
    }

    static let longestBackoff = Duration.seconds(300)
    private static let meteredInterval = Duration.seconds(60)
    private static let suspicionInterval = Duration.seconds(30)
    private static let failureThreshold = 2

    private struct Family {
        var path: NetworkPath
        /// When the next check is due; nil while one is running.
        var nextCheck: MonotonicTime?
        var connectivity = Connectivity.unknown
        /// The number of consecutive failed rounds: the exponent of the backoff.
        var failures = 0
        var round: Int
        var startedAt: MonotonicTime?
        /// When the last check began that left no doubt: it was good, or not the first of the failures.
        var decidedAt: MonotonicTime?
        /// When a running check counts as silent; nil if it already does or if a silence is already known.
        var silentAt: MonotonicTime?
    }

    private let interval: Duration
    private var families: [AddressFamily: Family] = [:]
    // Kept across paths: a metered link that comes and goes must not cause a check at every return.
    private var lastMeteredChecks: [AddressFamily: MonotonicTime] = [:]
    private var suspectedAt: MonotonicTime?
    private var lastRound = 0

    init(interval: Duration) { self.interval = interval }

    /// When the next check is due; nil if none is.
    var deadline: MonotonicTime? {
        self.families.values.flatMap { [$0.nextCheck, $0.silentAt].compactMap(\.self) }.min()
    }

    /// The connectivity of a family on its current path.
    func connectivity(_ family: AddressFamily) -> Connectivity { self.families[family]?.connectivity ?? .unknown }

    /// The path of a family's checks.
    func path(_ family: AddressFamily) -> NetworkPath? { self.families[family]?.path }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> [Effect] {
        switch input {
        case .path(let family, let path): return self.move(family, to: path, at: now)
        case .finished(let family, let round, let found):
            guard let state = self.families[family], state.round == round, state.nextCheck == nil else {
                return []
            }
            return self.record(family, found, at: now)
        case .requestSucceeded(let family, let moment):
            // A success from before the running check proves nothing about its result.
            guard let state = self.families[family], state.startedAt.map({ $0 < moment }) ?? true else { return [] }
            return self.record(family, .full, at: now)
        case .requestFailed:
            self.suspect(at: now)
            return []
        case .tick: return self.silences(at: now) + self.startDueChecks(at: now)
        }
    }

    /// Whether a check that began since a moment has decided; if not, the next one begins soon, even if it costs money.
    mutating func decides(_ family: AddressFamily, since moment: MonotonicTime, at now: MonotonicTime) -> Bool {
        guard let state = self.families[family] else { return true }
        if let decidedAt = state.decidedAt, decidedAt >= moment { return true }
        let pause = state.failures == 0 ? Duration.zero : .seconds(1)
        self.families[family]?.nextCheck = state.nextCheck.map { min($0, now + pause) }
        return false
    }

    private mutating func move(_ family: AddressFamily, to path: NetworkPath?, at now: MonotonicTime) -> [Effect] {
        guard let path else {
            guard let gone = self.families.removeValue(forKey: family) else { return [] }
            return gone.connectivity == .unknown ? [] : [.level(family, .unknown)]
        }
        if let known = self.families[family], known.path.isSamePath(as: path) {
            self.families[family]?.path = path
            return []
        }
        let old = self.connectivity(family)
        self.lastRound += 1
        self.families[family] = Family(path: path, nextCheck: now, round: self.lastRound)
        self.wait(family, until: now)
        return old == .unknown ? [] : [.level(family, .unknown)]
    }

    private mutating func record(_ family: AddressFamily, _ found: Connectivity, at now: MonotonicTime) -> [Effect] {
        guard var state = self.families[family] else { return [] }
        let old = state.connectivity
        state.silentAt = nil
        if found == .full {
            state.failures = 0
            state.connectivity = .full
        } else {
            state.failures += 1
            if state.failures >= InternetMachine.failureThreshold || old.isLeftAtOnce(for: found) {
                state.connectivity = found
            }
        }
        if found == .full || state.connectivity != .full { state.decidedAt = state.startedAt }
        self.families[family] = state
        let backoff = min(InternetMachine.longestBackoff, .seconds(1 << min(max(0, state.failures - 1), 16)))
        self.wait(family, until: now + (found == .full ? self.interval : backoff))
        return state.connectivity == old ? [] : [.level(family, state.connectivity)]
    }

    // At most once per interval: a server that always fails must not cause continuous checks.
    private mutating func suspect(at now: MonotonicTime) {
        if let before = self.suspectedAt, now - before < InternetMachine.suspicionInterval { return }
        self.suspectedAt = now
        for (family, state) in self.families {
            guard let next = state.nextCheck, next > now + .seconds(1) else { continue }
            if state.connectivity != .full { self.families[family]?.failures = 1 }
            self.wait(family, until: now + .seconds(1))
        }
    }

    private mutating func wait(_ family: AddressFamily, until moment: MonotonicTime) {
        guard let state = self.families[family] else { return }
        let floor = self.lastMeteredChecks[family].map { $0 + InternetMachine.meteredInterval }
        let earliest = state.path.metered.isCostly ? floor ?? moment : moment
        self.families[family]?.nextCheck = max(moment, earliest)
    }

    private mutating func silences(at now: MonotonicTime) -> [Effect] {
        self.families.keys.compactMap { family in
            guard let state = self.families[family], let due = state.silentAt, due <= now else { return nil }
            self.families[family]?.silentAt = nil
            return state.startedAt.map { .silent(since: $0) }
        }
    }

    private mutating func startDueChecks(at now: MonotonicTime) -> [Effect] {
        var effects: [Effect] = []
        for family in AddressFamily.allCases {
            guard var state = self.families[family], let next = state.nextCheck, next <= now else {
                continue
            }
            self.lastRound += 1
            state.round = self.lastRound
            state.nextCheck = nil
            state.startedAt = now
            if state.failures == 0 { state.silentAt = now + Thresholds.certainty }
            self.families[family] = state
            if state.path.metered.isCostly { self.lastMeteredChecks[family] = now }
            effects.append(.check(family, round: state.round))
        }
        return effects
    }
}

extension Connectivity {
    /// True if a single failure ends this connectivity.
    ///
    /// On a path that has just come up the first answer may be slow or lost, and a working connectivity is not given up
    /// for one failure either. A portal has answered, so it counts immediately.
    fileprivate func isLeftAtOnce(for found: Connectivity) -> Bool {
        switch (self, found) {
        case (.full, _): false
        case (.unknown, .portal): true
        case (.unknown, _): false
        case (.none, _), (.limited, _), (.portal, _): true
        }
    }
}
