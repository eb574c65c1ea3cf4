/// Random numbers that depend on a seed only (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The same seed gives the same numbers.
    package init(seed: UInt64) { self.state = seed }

    /// The next 64 random bits.
    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (self.state ^ self.state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A number from 0 up to 1, without 1.
    package mutating func fraction() -> Double { Double(self.next() >> 11) / Double(1 << 53) }
}
