internal import TidegateCore

/// When this host is diagnosed: after a change that lasts, while something is bad, and when somebody looks.
struct DiagnosisSchedule: Sendable, Hashable {
    /// What happens to a schedule.
    enum Input: Sendable, Hashable {
        /// A path or a level has changed.
        case changed
        /// An attempt failed in silence, so that others are asked at once.
        case failed
        /// Somebody looks at the status page.
        case viewed
        /// A diagnosis has begun.
        case began
        /// A diagnosis has ended.
        case ended(isBad: Bool)
    }

    /// How long a change has to last.
    static let settling = Duration.seconds(1)
    /// The time between diagnoses while something is bad, and at least between those for lookers.
    static let interval = Duration.seconds(15)
    /// The time at least between a diagnosis and one for a failed attempt.
    static let patience = Duration.seconds(5)

    /// When the next diagnosis is due; nil while none is.
    private(set) var deadline: MonotonicTime?
    private var beganAt: MonotonicTime?

    /// The schedule after an input.
    func after(_ input: Input, at now: MonotonicTime) -> DiagnosisSchedule {
        var next = self
        switch input {
        case .changed: next.deadline = now + DiagnosisSchedule.settling
        case .failed: next.request(DiagnosisSchedule.patience, at: now)
        case .viewed: next.request(DiagnosisSchedule.interval, at: now)
        case .began: (next.beganAt, next.deadline) = (now, nil)
        case .ended(let isBad):
            guard isBad, let began = next.beganAt else { break }
            next.deadline = min(next.deadline ?? began + DiagnosisSchedule.interval, began + DiagnosisSchedule.interval)
        }
        return next
    }

    // Now, or as soon as `distance` has passed since the last one began; never later than planned.
    private mutating func request(_ distance: Duration, at now: MonotonicTime) {
        let earliest = self.beganAt.map { max(now, $0 + distance) } ?? now
        self.deadline = min(self.deadline ?? earliest, earliest)
    }
}
