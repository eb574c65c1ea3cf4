internal import TidegateCore

/// A time from the year 1 to the year 9999.
struct Timestamp: Sendable, Hashable {
    /// Since 1970, without leap seconds.
    let seconds: Int64
    /// 0 to 999,999,999.
    let nanoseconds: Int64

    private static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
    private static let billion: Int64 = 1_000_000_000

    /// A time from its components; nil if it is out of range.
    init?(seconds: Int64, nanoseconds: Int64 = 0) {
        guard Self.range.contains(seconds), (0..<Self.billion).contains(nanoseconds) else { return nil }
        (self.seconds, self.nanoseconds) = (seconds, nanoseconds)
    }

    /// Parses RFC 3339: `2026-11-20T23:14:22.123Z`; nil for anything else.
    init?(_ text: String) {
        guard let (seconds, nanoseconds) = InternetTime.parse(text) else { return nil }
        self.init(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// This time plus some nanoseconds; nil if it is out of range.
    func adding(_ nanoseconds: Int64) -> Timestamp? {
        let rest = self.nanoseconds + nanoseconds.flooredRemainder(by: Self.billion)
        let seconds = self.seconds + nanoseconds.flooredDivision(by: Self.billion) + rest / Self.billion
        return Timestamp(seconds: seconds, nanoseconds: rest % Self.billion)
    }

    /// The nanoseconds since `other`; nil if they do not fit in 64 bits.
    func since(_ other: Timestamp) -> Int64? {
        let (whole, overflow) = (self.seconds - other.seconds).multipliedReportingOverflow(by: Self.billion)
        let (sum, isTooLarge) = whole.addingReportingOverflow(self.nanoseconds - other.nanoseconds)
        return overflow || isTooLarge ? nil : sum
    }

    /// In nanoseconds since 1970.
    var total: Int128 { Int128(self.seconds) * Int128(Self.billion) + Int128(self.nanoseconds) }

    /// RFC 3339 in UTC, with as many fractional digits as needed.
    var text: String {
        let date = CivilDate(daysSince1970: self.seconds.flooredDivision(by: 86_400))
        let rest = self.seconds.flooredRemainder(by: 86_400)
        func pad(_ number: Int64, _ width: Int) -> String { String(number).padded(to: width) }
        var text = "\(pad(date.year, 4))-\(pad(date.month, 2))-\(pad(date.day, 2))T"
        text += "\(pad(rest / 3600, 2)):\(pad(rest / 60 % 60, 2)):\(pad(rest % 60, 2))"
        guard self.nanoseconds > 0 else { return text + "Z" }
        var digits = pad(self.nanoseconds, 9)
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(text).\(digits)Z"
    }
}
