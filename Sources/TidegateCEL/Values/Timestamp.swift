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
        let bytes = Array(text.utf8)
        func number(_ start: Int, _ count: Int) -> Int64? {
            guard start + count <= bytes.count else { return nil }
            let digits = bytes[start..<start + count]
            guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month), hour < 24, minute < 60,
            second < 60
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        // A day that the month lacks would become a day of the next month.
        guard CivilDate(daysSince1970: date.daysSince1970) == date else { return nil }
        var place = 19
        var fraction: Int64 = 0
        if bytes[place] == UInt8(ascii: ".") {
            let digits = bytes[(place + 1)...].prefix { (0x30...0x39).contains($0) }
            guard (1...9).contains(digits.count), let value = number(place + 1, digits.count) else { return nil }
            fraction = (digits.count..<9).reduce(value) { scaled, _ in scaled * 10 }
            place += 1 + digits.count
        }
        guard let offset = Self.offset(String(decoding: bytes[place...], as: UTF8.self)) else { return nil }
        self.init(
            seconds: date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset,
            nanoseconds: fraction)
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
        func pad(_ number: Int64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        var text = "\(pad(date.year, 4))-\(pad(date.month, 2))-\(pad(date.day, 2))T"
        text += "\(pad(rest / 3600, 2)):\(pad(rest / 60 % 60, 2)):\(pad(rest % 60, 2))"
        guard self.nanoseconds > 0 else { return text + "Z" }
        var digits = pad(self.nanoseconds, 9)
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(text).\(digits)Z"
    }

    /// How many seconds a time zone is ahead of UTC, less than a day.
    ///
    /// Parses `Z`, `UTC`, `+02:00` or `-02:00`; nil for anything else, including city names.
    static func offset(_ zone: String) -> Int64? {
        guard zone != "Z", zone != "UTC" else { return 0 }
        let sign: Int64 = zone.hasPrefix("-") ? -1 : 1
        let digits = zone.hasPrefix("-") || zone.hasPrefix("+") ? zone.dropFirst() : Substring(zone)
        let parts = digits.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let hours = Int64(parts[0]), let minutes = Int64(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}
