public import TidegateCore

/// The conditions of a wait, and its limits.
package struct WaitConfiguration: Sendable {
    /// The conditions.
    package var conditions: [WaitCondition]
    /// True if one of the conditions is enough.
    package var isAnyEnough: Bool
    /// The only family that counts; nil for both.
    package var family: AddressFamily?
    /// How long the conditions must hold without a break.
    package var stable: Duration
    /// How long to wait; nil for no limit, zero to evaluate the conditions once.
    package var timeout: Duration?

    package init(
        _ conditions: [WaitCondition], isAnyEnough: Bool = false, family: AddressFamily? = nil,
        stable: Duration = .zero, timeout: Duration? = nil
    ) {
        self.conditions = conditions
        self.isAnyEnough = isAnyEnough
        self.family = family
        self.stable = stable
        self.timeout = timeout
    }

    /// The targets of the conditions, without duplicates.
    package var targets: [Target] {
        self.conditions.compactMap(\.target).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// True if every check is made once, regardless of its duration.
    var isSingle: Bool { self.timeout == .zero }
}

/// The progress of a wait.
package struct WaitProgress: Sendable, Hashable {
    /// The time since its start.
    package let elapsed: Duration
    /// The first condition that does not hold; nil if all hold, but not for long enough yet.
    package let unmet: UnmetCondition?
    /// True if the condition fails on another rung than before.
    package let hasNewRung: Bool
    /// How long the conditions have held without a break.
    package let held: Duration
}

/// A condition that does not hold: its first failing rung, and the reason.
public struct UnmetCondition: Sendable, Hashable, CustomStringConvertible {
    /// The condition.
    public let condition: WaitCondition
    /// The first rung that fails.
    public let rung: Rung
    /// Why it fails; nil if unknown so far.
    public let reason: UnreachableReason?
    /// What is missing, in a sentence without a full stop.
    public let message: String

    /// `carrier: eth0 has no carrier`.
    public var description: String { "\(self.rung.rawValue): \(self.message)" }
}

/// Why a wait ended without its conditions being met.
public enum WaitError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Time ran out.
    ///
    /// The value is the first condition that does not hold; nil if all hold, but not for long enough.
    case timedOut(UnmetCondition?)
    /// The Swift task was cancelled.
    case cancelled

    /// One sentence without a full stop.
    public var description: String {
        switch self {
        case .timedOut(let unmet?): "timed out: \(unmet)"
        case .timedOut(nil): "timed out: the conditions did not hold for long enough"
        case .cancelled: "cancelled"
        }
    }
}
