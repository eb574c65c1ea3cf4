package import TidegateCore

/// When the circuit of a failing origin opens, and for how long.
public struct CircuitPolicy: Sendable, Hashable {
    /// How many failures in a row open the circuit; 1 to 10,000.
    public var failures: Int
    /// How long it stays open the first time, longer than 0; twice as long the second time in a row, three times the
    /// third.
    public var pause: Duration
    /// The longest time it stays open; not shorter than ``pause``.
    public var cap: Duration
    /// False if the circuit never opens.
    public var isEnabled = true

    /// The circuit never opens.
    public static let never: CircuitPolicy = {
        var policy = CircuitPolicy()
        policy.isEnabled = false
        return policy
    }()

    /// A policy.
    public init(failures: Int = 5, pause: Duration = .seconds(30), cap: Duration = .seconds(300)) {
        self.failures = failures
        self.pause = pause
        self.cap = cap
    }

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            (1...10_000).contains(self.failures), "circuit.failures", "\(self.failures) is not 1 to 10000")
        try ConfigurationValueError.check(self.pause > .zero, "circuit.pause", "the time must be longer than 0")
        try ConfigurationValueError.check(
            self.cap >= self.pause, "circuit.cap", "the longest time must not be shorter than circuit.pause")
    }
}
