internal import TidegateCore

/// Evaluates the families and the host as a whole, and hands their verdicts to the publisher.
struct FamilyEvaluator {
    /// What followed from an evaluation.
    struct Result {
        /// To be published once gates are closed.
        var changes: [PathEvent] = []
        /// True if a level has changed that gates go by.
        var hasNewLevel = false
    }

    let evaluator: RouteEvaluator
    let publisher: VerdictPublisher
    let internet: InternetCheck?

    /// Records what was evaluated, raised by what internet checks found.
    func update(_ families: [ReachabilityStatus.Family], detection: Duration?, at now: MonotonicTime) -> Result {
        let (changes, hasNewLevel) = self.publisher.update(
            self.internet?.applyInternetLevel(to: families, at: now) ?? families,
            times: { self.evaluator.debounceTimes(for: $0, at: now) }, detection: detection, links: self.links, at: now)
        return Result(changes: changes, hasNewLevel: hasNewLevel)
    }

    /// Makes every verdict unknown, because the kernel cannot be read.
    func open(at now: MonotonicTime) -> Result {
        self.update(
            AddressFamily.allCases.map { .init(family: $0, verdict: .unknown) }, detection: nil, at: now)
    }

    /// Lets pending gains that are stable take effect.
    func tick(at now: MonotonicTime) -> Result {
        let (changes, hasNewLevel) = self.publisher.tick(links: self.links, at: now)
        return Result(changes: changes, hasNewLevel: hasNewLevel)
    }

    private var links: [Link] { self.evaluator.reducer.snapshot.sortedLinks }
}
