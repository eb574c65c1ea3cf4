internal import TidegateCore

/// Decides when to evaluate because a route expires, which the kernel may not report.
struct RouteExpiry {
    /// The time left of the matched route that expires first; nil if none expires.
    private(set) var soonest: Duration?
    // The kernel reports a rest shorter than its clock's tick as 0, which otherwise means never.
    private var isUncertain = false

    /// Begins a new evaluation.
    mutating func reset() { self.soonest = nil }

    /// Records the time left of a matched route.
    mutating func note(_ expiry: Duration) { self.soonest = min(self.soonest ?? expiry, expiry) }

    /// When to evaluate next; nil if no route expires.
    ///
    /// A little later than the expiry, because the kernel rounds to hundredths of a second; and never in a tight loop.
    func deadline(from now: MonotonicTime) -> MonotonicTime? {
        self.soonest.map { now + max($0 + .milliseconds(20), .milliseconds(200)) }
    }

    /// When to evaluate once more after an evaluation at an expiry; nil if ``deadline(from:)`` says it all.
    mutating func confirmation(from now: MonotonicTime) -> MonotonicTime? {
        self.isUncertain = !self.isUncertain && self.soonest == nil
        return self.isUncertain ? now + .milliseconds(100) : nil
    }
}
