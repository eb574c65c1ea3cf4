package import TidegateCore

/// What a wait is for, and how long it may take.
package struct WaitConfiguration: Sendable {
    /// The conditions.
    package var conditions: [WaitCondition]
    /// True if one of the conditions is enough.
    package var isAnyEnough: Bool
    /// Only this family counts; nil for both.
    package var family: AddressFamily?
    /// How long the conditions must hold without a break.
    package var stable: Duration
    /// How long to wait; nil for as long as it takes, zero to evaluate the conditions once.
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

    /// True if every check is made once, however long it takes.
    var isSingle: Bool { self.timeout == .zero }
}

/// How a wait stands.
package struct WaitProgress: Sendable, Hashable {
    /// The time since its start.
    package let elapsed: Duration
    /// The first condition that does not hold; nil if they hold, but not for long enough yet.
    package let unmet: UnmetCondition?
    /// True if the condition fails on another rung than before.
    package let hasNewRung: Bool
    /// How long the conditions have held without a break.
    package let held: Duration
}
