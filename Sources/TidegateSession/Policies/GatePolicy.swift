public import TidegateCore

/// What an attempt waits for, and for how long.
public struct GatePolicy: Sendable, Hashable, Codable {
    /// The requirements: all must hold; an empty list requires nothing.
    public var require: [Requirement]
    /// The total time that a task waits at the gate, not counting suspensions; 0 or longer, nil is no limit.
    public var patience: Duration?

    /// A gate that is always open.
    public static let open = GatePolicy(require: [.none])

    /// Creates a gate; by default it requires a route to the target and has unlimited patience.
    public init(require: [Requirement] = [.routed], patience: Duration? = nil) {
        self.require = require
        self.patience = patience
    }

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            self.patience.map { $0 >= .zero } ?? true, "gate.patience", "the time must not be negative")
    }

    /// True if only a route to the target is required, which is the usual case.
    var requiresRouteOnly: Bool { self.require.count == 1 && self.require[0] == .routed }

    /// True if nothing is required.
    var isOpen: Bool { self.require.allSatisfy { $0 == .none } }
}
