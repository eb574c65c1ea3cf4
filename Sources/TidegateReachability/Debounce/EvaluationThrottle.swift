internal import TidegateCore

/// Decides when to evaluate after kernel messages: the first message immediately, a burst together, a loss without
/// delay.
struct EvaluationThrottle {
    enum Decision: Hashable {
        /// Evaluate now.
        case now
        /// Evaluate at this moment, together with whatever arrives until then.
        case at(MonotonicTime)
    }

    private static let quiet = Duration.milliseconds(20)
    private static let ceiling = Duration.milliseconds(50)
    private static let stormCeiling = Duration.milliseconds(250)

    private var lastChange: MonotonicTime?
    private var pendingSince: MonotonicTime?
    private var earliest: MonotonicTime?
    // Set while a loss waits for the end of the pause, which later messages may not postpone.
    private var isLossPending = false

    /// Records a message; returns when to evaluate.
    mutating func schedule(at now: MonotonicTime, isLoss: Bool, isStorm: Bool) -> Decision {
        let isQuiet = self.lastChange.map { now - $0 >= EvaluationThrottle.quiet } ?? true
        self.lastChange = now
        if isLoss && !isStorm || isQuiet && self.pendingSince == nil {
            if let earliest = self.earliest, now < earliest {
                self.pendingSince = self.pendingSince ?? now
                self.isLossPending = self.isLossPending || isLoss
                return .at(earliest)
            }
            self.pendingSince = nil
            return .now
        }
        if self.isLossPending, let earliest = self.earliest { return .at(earliest) }
        let since = self.pendingSince ?? now
        self.pendingSince = since
        let ceiling = isStorm ? EvaluationThrottle.stormCeiling : EvaluationThrottle.ceiling
        return .at(min(isStorm ? since + ceiling : now + EvaluationThrottle.quiet, since + ceiling))
    }

    /// Records that an evaluation has started.
    mutating func didEvaluate() {
        self.pendingSince = nil
        self.isLossPending = false
    }

    /// Pauses for as long as the evaluation that ended at `end` took.
    ///
    /// With thousands of targets and containers that come and go, evaluation then costs at most half a processor; the
    /// usual evaluation and its pause are over in less than a millisecond.
    mutating func pause(for cost: Duration, from end: MonotonicTime) { self.earliest = end + cost }
}
