package import TidegateCore

/// The dates of cookies, as lenient as browsers are (RFC 6265 5.1.1).
package enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    package static func parse(_ text: String) -> WallTime? {
        var (time, day, month, year): ([Int]?, Int?, Int?, Int?)
        for token in text.split(whereSeparator: { !($0.isLetter || $0.isNumber || $0 == ":") }) {
            let clock = token.split(separator: ":").compactMap { Int($0) }
            if time == nil, clock.count == 3, token.contains(":") {
                time = clock
            } else if day == nil, token.count <= 2, let number = Int(token) {
                day = number
            } else if month == nil, let place = self.months.firstIndex(of: token.prefix(3).lowercased()) {
                month = place + 1
            } else if year == nil, (2...4).contains(token.count), let number = Int(token) {
                year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
            }
        }
        guard let time, let day, let month, let year, (1601...9999).contains(year), (1...31).contains(day),
            (0...23).contains(time[0]), (0...59).contains(time[1]), (0...59).contains(time[2])
        else { return nil }
        let date = CivilDate(year: Int64(year), month: Int64(month), day: Int64(day))
        let seconds = date.daysSince1970 * 86_400 + Int64(time[0] * 3600 + time[1] * 60 + time[2])
        return WallTime(microseconds: seconds * 1_000_000)
    }
}
