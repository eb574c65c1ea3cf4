internal import TidegateCore

/// Decides when to diagnose this host: after a lasting change, during a failure, and when a user opens the status page.
struct DiagnosisSchedule: Sendable, Hashable {
    /// An event that affects the schedule.
    enum Input: Sendable, Hashable {
        /// A path has changed.
        case changed
        /// No packets can be sent any more.
        case lost
        /// A packet was not answered, so a diagnosis should follow soon.
        case failed
        /// A host has answered, which may end an outage.
        case answered
        /// The status page was requested, or the ladder may look different now.
        case viewed
        /// A diagnosis has begun.
        case began
        /// A diagnosis has ended.
        case ended(isBad: Bool)
    }

    /// How long a change must last.
    static let settling = Duration.seconds(1)
    /// The time between diagnoses in the first minute of an outage, and after it.
    static let badIntervals = (short: Duration.seconds(5), long: Duration.seconds(10))
    private static let young = Duration.seconds(60)
    /// The minimum time between diagnoses for the status page.
    static let interval = Duration.seconds(15)
    /// The minimum time between a diagnosis and the next one for an unanswered packet, or for an answer after an
    /// outage.
    static let patience = Duration.seconds(3)
    /// The minimum time between diagnoses for a link that comes and goes.
    static let flapping = Duration.seconds(1)

    /// When the next diagnosis is due; nil if none is.
    private(set) var deadline: MonotonicTime?
    private var beganAt: MonotonicTime?
    // Since when the host has a failure; nil if it has none.
    private var badSince: MonotonicTime?

    /// Returns the schedule after an input.
    func after(_ input: Input, at now: MonotonicTime) -> DiagnosisSchedule {
        var next = self
        switch input {
        case .changed: next.deadline = now + DiagnosisSchedule.settling
        case .lost: next.request(DiagnosisSchedule.flapping, at: now)
        case .failed: next.request(DiagnosisSchedule.patience, at: now)
        case .answered: if self.badSince != nil { next.request(DiagnosisSchedule.patience, at: now) }
        case .viewed: next.request(DiagnosisSchedule.interval, at: now)
        case .began: (next.beganAt, next.deadline) = (now, nil)
        case .ended(let isBad):
            next.badSince = isBad ? self.badSince ?? now : nil
            guard let since = next.badSince, let began = next.beganAt else { break }
            let intervals = DiagnosisSchedule.badIntervals
            let planned = began + (now - since < DiagnosisSchedule.young ? intervals.short : intervals.long)
            next.deadline = min(next.deadline ?? planned, planned)
        }
        return next
    }

    // Plans a diagnosis now, or as soon as `distance` has passed since the last one began; never later than already
    // planned.
    private mutating func request(_ distance: Duration, at now: MonotonicTime) {
        let earliest = self.beganAt.map { max(now, $0 + distance) } ?? now
        self.deadline = min(self.deadline ?? earliest, earliest)
    }
}
