/// When the circuit of a failing origin opens, and for how long.
public struct CircuitPolicy: Sendable, Hashable {
    /// How many failures in a row open the circuit; 1 and up.
    public let failures: Int
    /// How long it stays open the first time; twice as long the second time in a row, three times the third.
    public let pause: Duration
    /// The longest time it stays open.
    public let cap: Duration
    /// False if the circuit never opens.
    public let isEnabled: Bool

    /// Five failures, 30 s for each time in a row, 300 s at most.
    public static let standard = CircuitPolicy(
        unchecked: 5, pause: .seconds(30), cap: .seconds(300), isEnabled: true)

    /// The circuit never opens.
    public static let never = CircuitPolicy(unchecked: 1, pause: .seconds(30), cap: .seconds(300), isEnabled: false)

    /// A policy; what is left out is as in ``standard``.
    ///
    /// - Throws: ``PolicyError`` if the number is below 1 or a duration not positive.
    public init(
        failures: Int = 5, pause: Duration = .seconds(30), cap: Duration = .seconds(300)
    ) throws(PolicyError) {
        try PolicyError.check((1...10_000).contains(failures), "circuit.failures", "\(failures) is not 1 to 10000")
        try PolicyError.check(pause > .zero, "circuit.pause", "the time must be longer than 0")
        try PolicyError.check(cap >= pause, "circuit.cap", "the longest time must not be shorter than circuit.pause")
        self.init(unchecked: failures, pause: pause, cap: cap, isEnabled: true)
    }

    private init(unchecked failures: Int, pause: Duration, cap: Duration, isEnabled: Bool) {
        self.failures = failures
        self.pause = pause
        self.cap = cap
        self.isEnabled = isEnabled
    }
}
