internal import TidegateCore
internal import TidegateNetwork

// How the internet beyond the routes raises verdicts; only where checks are configured.
extension ReachabilityEngine {
    /// Takes the families' paths in, and raises their verdicts by what is known about them.
    func raise(_ families: [ReachabilityStatus.Family]) -> [ReachabilityStatus.Family] {
        guard self.internet != nil else { return families }
        return families.map { entry in
            let path = entry.verdict.level >= .routed ? entry.verdict.path : nil
            // What it says about the level shows in the verdict that is raised right after.
            _ = self.internet?.handle(.path(entry.family, path), at: self.kernel.now)
            return .init(family: entry.family, verdict: self.raised(entry.verdict, entry.family))
        }
    }

    /// A routed verdict with the level that checks over the same way came to.
    ///
    /// What takes another way than the family's default, such as to the local network, is not judged by it.
    func raised(_ verdict: Verdict, _ family: AddressFamily) -> Verdict {
        guard let internet = self.internet, verdict.level == .routed, let path = verdict.path,
            internet.path(family)?.isSamePath(as: path) ?? false
        else { return verdict }
        var verdict = verdict
        let connectivity = internet.connectivity(family)
        verdict.level = connectivity.level
        verdict.reason = connectivity.reason
        return verdict
    }

    /// Asks whoever is due to be asked, unless requests have answered already.
    func checkInternet() {
        guard var internet = self.internet else { return }
        let now = self.kernel.now
        var effects: [InternetMachine.Effect] = []
        if let due = internet.deadline, due <= now {
            for family in AddressFamily.allCases {
                guard let moment = self.internetSeen(family, internet) else { continue }
                effects += internet.handle(.passed(family, at: moment), at: now)
            }
            effects += internet.handle(.tick, at: now)
        }
        self.internet = internet
        self.carryOut(effects)
        self.armInternet()
    }

    /// Takes in what a round of checks came to.
    func internetAnswered(_ family: AddressFamily, round: Int, _ found: Connectivity) {
        let effects = self.internet?.handle(.answered(family, round: round, found), at: self.kernel.now) ?? []
        self.carryOut(effects)
        self.armInternet()
    }

    /// Takes in that requests fail.
    func requestFailed() {
        _ = self.internet?.handle(.requestFailed, at: self.kernel.now)
        self.armInternet()
    }

    private func armInternet() {
        guard let deadline = self.internet?.deadline else { return self.disarm(.internet) }
        self.arm(.internet, at: deadline)
    }

    // When a request over the family's path last showed that the internet is there.
    private func internetSeen(_ family: AddressFamily, _ internet: InternetMachine) -> MonotonicTime? {
        let now = self.parts.time.monotonic()
        guard let seen = self.parts.evidence.fresh(from: internet.path(family)?.source, at: now)?.internetAt else {
            return nil
        }
        // The bus may have another clock.
        return self.kernel.now + (seen - now)
    }

    private func carryOut(_ effects: [InternetMachine.Effect]) {
        var isChanged = false
        for effect in effects {
            switch effect {
            case .level: isChanged = true
            case .ask(let family, let round): self.ask(family, round)
            }
        }
        if isChanged { self.evaluate(heardAt: nil) }
    }

    private func ask(_ family: AddressFamily, _ round: Int) {
        guard let web = self.parts.web else { return }
        let (resolver, send) = (self.parts.resolver, self.send)
        let asker = InternetAsker(urls: self.parts.configuration.internetCheck.urls, web: web, limit: .seconds(10))
        Task {
            let observations = await asker.ask(family) { name in
                await withCheckedContinuation { waiter in
                    resolver.resolve(name) { waiter.resume(returning: $0) }
                }
            }
            _ = send(.internetAnswered(family, round: round, ConnectivityEvaluator.connectivity(observations)))
        }
    }
}

extension Connectivity {
    /// What a verdict of this connectivity's level gives for its reason.
    fileprivate var reason: UnreachableReason? {
        switch self {
        case .unknown, .full: nil
        case .none, .limited: .limited
        case .portal: .portal
        }
    }
}
