internal import TidegateCore

/// Evaluates the families and the host as a whole, and hands their verdicts to the publisher.
struct FamilyEvaluator {
    let evaluator: RouteEvaluator
    let publisher: VerdictPublisher
    let internet: InternetCheck?

    /// Records what was evaluated, raised by what internet checks found.
    func update(_ families: [ReachabilityStatus.Family], detection: Duration?, at now: MonotonicTime)
        -> VerdictPublisher.Update
    {
        let families = self.internet?.applyInternetLevel(to: families, at: now) ?? families
        return self.publisher.update(links: self.links) {
            $0.update(
                families, times: { self.evaluator.debounceTimes(for: $0, at: now) }, detection: detection, at: now)
        }
    }

    /// Makes every verdict unknown, because the kernel cannot be read.
    func open(at now: MonotonicTime) -> VerdictPublisher.Update {
        self.update(
            AddressFamily.allCases.map { .init(family: $0, verdict: .unknown) }, detection: nil, at: now)
    }

    /// Lets pending gains that are stable take effect.
    func tick(at now: MonotonicTime) -> VerdictPublisher.Update {
        self.publisher.update(links: self.links) { $0.tick(at: now) }
    }

    private var links: [Link] { self.evaluator.reducer.snapshot.sortedLinks }
}
