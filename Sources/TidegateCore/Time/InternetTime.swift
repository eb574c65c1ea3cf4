/// Times as RFC 3339 writes them.
package enum InternetTime {
    /// Seconds and nanoseconds since 1970 of `2026-11-20T23:14:22.123Z`; nil for anything else.
    package static func parse(_ text: String) -> (seconds: Int64, nanoseconds: Int64)? {
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
        return (date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset, fraction)
    }

    /// How many seconds a time zone is ahead of UTC, less than a day.
    ///
    /// Parses `Z`, `UTC`, `+02:00` or `-02:00`; nil for anything else, including city names.
    package static func offset(_ zone: String) -> Int64? {
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

extension WallTime {
    /// Parses RFC 3339, or a day alone, which begins at midnight in UTC; nil for anything else.
    package init?(_ text: String) {
        guard let (seconds, nanoseconds) = InternetTime.parse(text.utf8.count == 10 ? text + "T00:00:00Z" : text)
        else { return nil }
        self.init(microseconds: seconds * 1_000_000 + nanoseconds / 1000)
    }

    /// How long this time is after `earlier`; negative if it is before.
    package func since(_ earlier: WallTime) -> Duration { .microseconds(self.microseconds - earlier.microseconds) }

    /// The moment `duration` earlier.
    package static func - (time: WallTime, duration: Duration) -> WallTime {
        WallTime(microseconds: time.microseconds - duration.wholeNanoseconds / 1000)
    }
}
