internal import TidegateCore

/// Decides when the internet is looked for, and what the answers come to, for each family by itself.
///
/// After a success it rests for the policy's interval; after failures it asks again ever more slowly, and at once on
/// another path.
struct InternetMachine {
    enum Input {
        /// Packets of a family take this way now; nil where they take none.
        case path(AddressFamily, NetworkPath?)
        /// A round of questions came to this.
        case answered(AddressFamily, round: Int, Connectivity)
        /// A request over the path succeeded at this moment, which is as good as a check.
        case passed(AddressFamily, at: MonotonicTime)
        /// A request failed: what was good may not be any more.
        case requestFailed
        /// Time has passed.
        case tick
    }

    enum Effect: Hashable {
        /// Ask every URL over this family.
        case ask(AddressFamily, round: Int)
        /// This is what a family's verdict goes by from now on.
        case level(AddressFamily, Connectivity)
    }

    static let longestBackoff = Duration.seconds(300)
    private static let meteredInterval = Duration.seconds(60)
    private static let suspicionInterval = Duration.seconds(30)
    private static let failuresToLeave = 2

    private enum Phase {
        case waiting(until: MonotonicTime)
        case asking
    }

    private struct Family {
        var path: NetworkPath
        var phase: Phase
        var connectivity = Connectivity.unknown
        /// Failed rounds in a row; also the exponent of the back-off.
        var failures = 0
        var round: Int
        var askedAt: MonotonicTime?
    }

    private let interval: Duration
    private var families: [AddressFamily: Family] = [:]
    // Kept across paths: a metered link that comes and goes must not be asked over at every return.
    private var askedOverMetered: [AddressFamily: MonotonicTime] = [:]
    private var suspectedAt: MonotonicTime?
    private var lastRound = 0

    init(interval: Duration) { self.interval = interval }

    /// When the next check is due; nil where none is.
    var deadline: MonotonicTime? {
        self.families.values.compactMap { family in
            guard case .waiting(let until) = family.phase else { return nil }
            return until
        }.min()
    }

    /// What is known about a family on its present path.
    func connectivity(_ family: AddressFamily) -> Connectivity { self.families[family]?.connectivity ?? .unknown }

    /// The path that a family's checks go over.
    func path(_ family: AddressFamily) -> NetworkPath? { self.families[family]?.path }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> [Effect] {
        switch input {
        case .path(let family, let path): return self.move(family, to: path, at: now)
        case .answered(let family, let round, let found):
            guard let state = self.families[family], state.round == round, case .asking = state.phase else { return [] }
            return self.settle(family, found, at: now)
        case .passed(let family, let moment):
            // What succeeded before the last question tells nothing about its answer.
            guard let state = self.families[family], state.askedAt.map({ $0 < moment }) ?? true else { return [] }
            return self.settle(family, .full, at: now)
        case .requestFailed:
            self.suspect(at: now)
            return []
        case .tick: return self.askDue(at: now)
        }
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
        self.families[family] = Family(path: path, phase: .waiting(until: now), round: self.lastRound)
        self.wait(family, until: now)
        return old == .unknown ? [] : [.level(family, .unknown)]
    }

    private mutating func settle(_ family: AddressFamily, _ found: Connectivity, at now: MonotonicTime) -> [Effect] {
        guard var state = self.families[family] else { return [] }
        let old = state.connectivity
        if found == .full {
            state.failures = 0
            state.connectivity = .full
        } else {
            state.failures += 1
            if old != .full || state.failures >= InternetMachine.failuresToLeave { state.connectivity = found }
        }
        self.families[family] = state
        self.wait(family, until: now + (found == .full ? self.interval : self.backoff(after: state.failures)))
        return state.connectivity == old ? [] : [.level(family, state.connectivity)]
    }

    private func backoff(after failures: Int) -> Duration {
        min(InternetMachine.longestBackoff, .seconds(1 << min(max(0, failures - 1), 16)))
    }

    // One suspicion in a while: a server that fails all the time must not have the internet asked for all the time.
    private mutating func suspect(at now: MonotonicTime) {
        if let before = self.suspectedAt, now - before < InternetMachine.suspicionInterval { return }
        self.suspectedAt = now
        for (family, state) in self.families {
            guard case .waiting(let until) = state.phase, until > now + .seconds(1) else { continue }
            if state.connectivity != .full { self.families[family]?.failures = 1 }
            self.wait(family, until: now + .seconds(1))
        }
    }

    private mutating func wait(_ family: AddressFamily, until moment: MonotonicTime) {
        guard let state = self.families[family] else { return }
        let floor = self.askedOverMetered[family].map { $0 + InternetMachine.meteredInterval }
        let earliest = state.path.metered.isCostly ? floor ?? moment : moment
        self.families[family]?.phase = .waiting(until: max(moment, earliest))
    }

    private mutating func askDue(at now: MonotonicTime) -> [Effect] {
        var effects: [Effect] = []
        for family in AddressFamily.allCases {
            guard var state = self.families[family], case .waiting(let until) = state.phase, until <= now else {
                continue
            }
            self.lastRound += 1
            state.round = self.lastRound
            state.phase = .asking
            state.askedAt = now
            self.families[family] = state
            if state.path.metered.isCostly { self.askedOverMetered[family] = now }
            effects.append(.ask(family, round: state.round))
        }
        return effects
    }
}
