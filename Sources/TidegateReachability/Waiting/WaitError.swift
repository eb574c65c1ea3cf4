public import TidegateCore

/// A condition that does not hold: the first rung that fails, and why.
public struct UnmetCondition: Sendable, Hashable, CustomStringConvertible {
    /// The condition.
    public let condition: WaitCondition
    /// The first rung that fails.
    public let rung: Rung
    /// Why it fails; nil while that is not known yet.
    public let reason: UnreachableReason?
    /// What is missing, in a sentence without a final full stop.
    public let message: String

    /// `carrier: eth0 has no carrier`.
    public var description: String { "\(self.rung.rawValue): \(self.message)" }
}

/// Why a wait ended without its conditions.
public enum WaitError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The time is over. The first condition that does not hold; nil if they hold, but not for long enough.
    case timedOut(UnmetCondition?)
    /// The Swift task was cancelled.
    case cancelled

    /// One sentence without a final full stop.
    public var description: String {
        switch self {
        case .timedOut(let unmet?): "timed out: \(unmet)"
        case .timedOut(nil): "timed out: the conditions did not hold for long enough"
        case .cancelled: "cancelled"
        }
    }
}
