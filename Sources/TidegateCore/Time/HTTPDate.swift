/// Moments as HTTP writes them (RFC 9110 5.6.7).
package enum HTTPDate {
    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///
    /// Returns seconds since 1970, and nil for anything else. `year` is the current one: two digits mean a year less than
    /// 50 years ahead of it.
    package static func parse(_ text: String, year: Int) -> Int64? {
        let parts = text.split { " ,-".contains($0) }.map(String.init)
        if parts.count == 6, parts[5] == "GMT" || parts[5] == "UTC" {
            return self.seconds(day: parts[1], month: parts[2], year: parts[3], time: parts[4], near: year)
        }
        guard parts.count == 5 else { return nil }
        return self.seconds(day: parts[2], month: parts[1], year: parts[4], time: parts[3], near: year)
    }

    /// The moment in the form that servers must write: `Fri, 20 Nov 2026 23:14:22 GMT`.
    package static func text(_ time: WallTime) -> String {
        let text = time.description
        let (year, month) = (text.prefix(4), Int(text.dropFirst(5).prefix(2)) ?? 1)
        let (day, clock) = (text.dropFirst(8).prefix(2), text.dropFirst(11).prefix(8))
        let days = (time.microseconds / 86_400_000_000) % 7
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        return "\(weekdays[Int(max(0, days))]), \(day) \(self.months[max(1, month) - 1]) \(year) \(clock) GMT"
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func seconds(day: String, month: String, year: String, time: String, near now: Int) -> Int64? {
        let clock = time.split(separator: ":").compactMap { self.number($0) }
        guard let day = self.number(day[...]), (1...31).contains(day), let month = self.months.firstIndex(of: month),
            var year = self.number(year[...]), clock.count == 3, clock[0] < 24, clock[1] < 60, clock[2] <= 60
        else { return nil }
        if year < 100 {
            year += now / 100 * 100
            if year > now + 50 { year -= 100 }
        }
        let date = CivilDate(year: Int64(year), month: Int64(month + 1), day: Int64(day))
        return date.daysSince1970 * 86_400 + Int64(clock[0] * 3600 + clock[1] * 60 + clock[2])
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...4).contains(text.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }
}
