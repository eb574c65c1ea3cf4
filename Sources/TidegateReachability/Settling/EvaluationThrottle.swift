internal import TidegateCore

/// Decides when to look again after news: the first at once, a burst together, a loss never later.
struct EvaluationThrottle {
    enum Decision: Hashable {
        /// Look now.
        case now
        /// Look then, with everything that comes until then.
        case at(MonotonicTime)
    }

    private static let quiet = Duration.milliseconds(20)
    private static let ceiling = Duration.milliseconds(50)
    private static let stormCeiling = Duration.milliseconds(250)

    private var lastNews: MonotonicTime?
    private var pendingSince: MonotonicTime?
    private var earliest: MonotonicTime?
    // Set while a loss waits for the end of the pause, which later news may not put off.
    private var isLossWaiting = false

    /// Takes news in.
    mutating func heard(at now: MonotonicTime, isLoss: Bool, isStorm: Bool) -> Decision {
        let isQuiet = self.lastNews.map { now - $0 >= EvaluationThrottle.quiet } ?? true
        self.lastNews = now
        if isLoss && !isStorm || isQuiet && self.pendingSince == nil {
            if let earliest = self.earliest, now < earliest {
                self.pendingSince = self.pendingSince ?? now
                self.isLossWaiting = self.isLossWaiting || isLoss
                return .at(earliest)
            }
            self.pendingSince = nil
            return .now
        }
        if self.isLossWaiting, let earliest = self.earliest { return .at(earliest) }
        let since = self.pendingSince ?? now
        self.pendingSince = since
        let ceiling = isStorm ? EvaluationThrottle.stormCeiling : EvaluationThrottle.ceiling
        return .at(min(isStorm ? since + ceiling : now + EvaluationThrottle.quiet, since + ceiling))
    }

    /// A look was taken.
    mutating func evaluated() {
        self.pendingSince = nil
        self.isLossWaiting = false
    }

    /// The look took `cost` and ended at `end`.
    ///
    /// As long a pause follows, so that thousands of targets under containers that come and go cost half a processor
    /// at most; the usual look is over, and its pause, in less than a millisecond.
    mutating func rest(after cost: Duration, from end: MonotonicTime) { self.earliest = end + cost }
}
