/// A task's name in events, JSON and logs: a UUID of version 7 (RFC 9562), so that ids sort by creation.
public struct TaskID: Sendable, Hashable, Comparable, LosslessStringConvertible {
    let high: UInt64
    let low: UInt64

    /// A new id from the wall clock and 74 random bits.
    package init(at time: WallTime, using generator: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(clamping: time.microseconds / 1000) & 0xFFFF_FFFF_FFFF
        self.high = milliseconds << 16 | 0x7000 | generator.next() & 0x0FFF
        self.low = 0x8000_0000_0000_0000 | generator.next() & 0x3FFF_FFFF_FFFF_FFFF
    }

    /// Orders ids by creation, to the millisecond.
    public static func < (left: TaskID, right: TaskID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    /// The id as 8-4-4-4-12 hexadecimal digits in lower case.
    public var description: String {
        let digits = Array(self.high.hexadecimal + self.low.hexadecimal)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    /// Parses what ``description`` gives.
    public init?(_ description: String) {
        let groups = description.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        let digits = groups.joined()
        guard digits.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2D }), let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }
}
