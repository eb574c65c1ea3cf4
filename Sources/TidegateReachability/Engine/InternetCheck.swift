internal import TidegateCore

/// Raises the verdicts of routes to the results of internet checks; owns the checks and their state.
final class InternetCheck {
    private var machine: InternetMachine
    private let checker: ConnectivityChecker
    private let resolver: any NameResolver
    private let evidence: PassiveEvidence
    private let time: any TimeSource
    private let send: @Sendable (@escaping ReachabilityEngine.Command) -> Void
    /// When a check began that has had no answer for ``Thresholds/certainty``, on the bus's clock; taken by the engine.
    var silence: MonotonicTime?
    /// The callers that wait for a check that begins after their question.
    private var waiting: [(family: AddressFamily, since: MonotonicTime, call: EngineTimers.Call)] = []

    /// Creates the checks and their schedule; nil if none are configured.
    init?(_ dependencies: ReachabilityEngine.Dependencies) {
        guard dependencies.checksInternet, let web = dependencies.web else { return nil }
        let policy = dependencies.configuration.internetCheck
        self.machine = InternetMachine(interval: policy.interval)
        self.checker = ConnectivityChecker(urls: policy.urls, web: web, limit: .seconds(10))
        self.resolver = dependencies.resolver
        self.evidence = dependencies.evidence
        self.time = dependencies.time
        self.send = dependencies.send
    }

    /// When the next check is due; nil if none is.
    var deadline: MonotonicTime? { self.machine.deadline }

    // MARK: Levels

    /// Records the families' paths, and raises their verdicts by what is known about the paths.
    func applyInternetLevel(
        to families: [ReachabilityStatus.Family], at now: MonotonicTime
    ) -> [ReachabilityStatus.Family] {
        families.map { entry in
            let path = entry.verdict.level >= .routed ? entry.verdict.path : nil
            // A new level shows in the verdict that is raised below.
            _ = self.machine.handle(.path(entry.family, path), at: now)
            guard entry.verdict.level == .routed, path != nil else { return entry }
            let connectivity = self.machine.connectivity(entry.family)
            var raised = entry
            raised.verdict.level = connectivity.level
            raised.verdict.reason = connectivity.reason
            return raised
        }
    }

    // MARK: Checks

    /// Starts the checks that are due, unless requests have just proved the same; true if a level has changed.
    func run(at now: MonotonicTime) -> Bool {
        guard let due = self.machine.deadline, due <= now else { return false }
        var effects: [InternetMachine.Effect] = []
        for family in AddressFamily.allCases {
            // Who waits wants a check: the requests may have been answered by a portal.
            guard self.waiting.isEmpty, let moment = self.lastSuccess(family, at: now) else { continue }
            effects += self.machine.handle(.requestSucceeded(family, at: moment), at: now)
        }
        return self.perform(effects + self.machine.handle(.tick, at: now), at: now)
    }

    /// Records the result of a round of checks; true if a level has changed.
    func didFinish(_ family: AddressFamily, round: Int, _ found: Connectivity, at now: MonotonicTime) -> Bool {
        self.perform(self.machine.handle(.finished(family, round: round, found), at: now), at: now)
    }

    /// Records that the check URLs answered a diagnosis that began at `moment`; true if a level has changed.
    func didAnswer(_ family: AddressFamily, since moment: MonotonicTime, at now: MonotonicTime) -> Bool {
        self.perform(self.machine.handle(.requestSucceeded(family, at: moment), at: now), at: now)
    }

    /// Records a failed request: a good connectivity may no longer be valid.
    func requestFailed(at now: MonotonicTime) { _ = self.machine.handle(.requestFailed, at: now) }

    /// Checks a family again, and calls back when the result is known; see ``answer(at:)``.
    func confirm(_ family: AddressFamily, at now: MonotonicTime, _ call: @escaping EngineTimers.Call) {
        self.waiting.append((family, now, call))
    }

    /// Calls those back who have their result, once it is published, and brings checks forward for the others.
    func answer(at now: MonotonicTime) {
        self.waiting.removeAll { entry in
            let isDecided = self.machine.decides(entry.family, since: entry.since, at: now)
            if isDecided { entry.call() }
            return isDecided
        }
    }

    // When a request over the family's path last proved that the internet is reachable.
    private func lastSuccess(_ family: AddressFamily, at now: MonotonicTime) -> MonotonicTime? {
        // Events carry times of the bus's clock, which may not be the netlink thread's.
        let found = self.evidence.fresh(from: self.machine.path(family)?.source, at: self.time.monotonic())
        return found?.internet.map { now + (.zero - $0) }
    }

    private func perform(_ effects: [InternetMachine.Effect], at now: MonotonicTime) -> Bool {
        var isChanged = false
        for effect in effects {
            switch effect {
            case .level: isChanged = true
            case .check(let family, let round): self.check(family, round)
            case .silent(let start): self.silence = self.time.monotonic() + (start - now)
            }
        }
        return isChanged
    }

    private func check(_ family: AddressFamily, _ round: Int) {
        Task { [checker, resolver, send] in
            let found = await checker.connectivity(family) { name in
                await withCheckedContinuation { continuation in
                    resolver.resolve(name) { continuation.resume(returning: $0) }
                }
            }
            send { $0.internetCheckFinished(family, round: round, found) }
        }
    }
}

extension Connectivity {
    /// The reason for a verdict at this connectivity's level.
    fileprivate var reason: UnreachableReason? {
        switch self {
        case .unknown, .full: nil
        case .none, .limited: .limited
        case .portal: .portal
        }
    }
}
