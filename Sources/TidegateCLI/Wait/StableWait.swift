internal import Tidegate

/// Decides when something has held long enough without a break.
struct StableWait: Sendable {
    /// What to do next.
    enum Answer: Sendable, Hashable {
        /// It has held long enough.
        case done
        /// It holds; ask again then, or sooner.
        case holdingUntil(MonotonicTime)
        /// It does not hold.
        case missing
    }

    private let required: Duration
    private var since: MonotonicTime?

    init(required: Duration) { self.required = required }

    /// Takes what was seen at `now`.
    mutating func observe(_ holds: Bool, at now: MonotonicTime) -> Answer {
        guard holds else {
            self.since = nil
            return .missing
        }
        let start = self.since ?? now
        self.since = start
        return now - start >= self.required ? .done : .holdingUntil(start + self.required)
    }
}
