internal import TidegateModel

/// Decides when to look again after news: the first at once, a burst together, a loss never later.
struct EvaluationPacer {
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

    /// Takes news in.
    mutating func heard(at now: MonotonicTime, isLoss: Bool, isStorm: Bool) -> Decision {
        let isQuiet = self.lastNews.map { now - $0 >= EvaluationPacer.quiet } ?? true
        self.lastNews = now
        if isLoss && !isStorm || isQuiet && self.pendingSince == nil {
            self.pendingSince = nil
            return .now
        }
        let since = self.pendingSince ?? now
        self.pendingSince = since
        let ceiling = isStorm ? EvaluationPacer.stormCeiling : EvaluationPacer.ceiling
        return .at(min(isStorm ? since + ceiling : now + EvaluationPacer.quiet, since + ceiling))
    }

    /// A look was taken.
    mutating func evaluated() { self.pendingSince = nil }
}
