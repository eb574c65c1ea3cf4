internal import TidegateCore

/// Decides when something has held long enough without a break.
struct StableWait: Sendable {
    /// The state after an observation.
    enum State: Sendable, Hashable {
        /// It has held for the required time.
        case done
        /// It holds; it must be observed again by then.
        case holdingUntil(MonotonicTime)
        /// It does not hold.
        case unmet
    }

    private let required: Duration
    private var since: MonotonicTime?

    init(required: Duration) { self.required = required }

    /// Records whether it holds at `now`.
    mutating func observe(_ holds: Bool, at now: MonotonicTime) -> State {
        guard holds else {
            self.since = nil
            return .unmet
        }
        let start = self.since ?? now
        self.since = start
        return now - start >= self.required ? .done : .holdingUntil(start + self.required)
    }

    /// How long it has held without a break; zero if it does not hold.
    func held(at now: MonotonicTime) -> Duration { self.since.map { now - $0 } ?? .zero }
}
