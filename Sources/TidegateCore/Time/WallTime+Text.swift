extension WallTime: CustomStringConvertible {
    /// RFC 3339 in UTC with milliseconds: `2026-11-20T23:14:22.123Z`.
    public var description: String {
        let milliseconds = self.microseconds.flooredDivision(by: 1000)
        let (days, rest) = (milliseconds.flooredDivision(by: 86_400_000), milliseconds.flooredRemainder(by: 86_400_000))
        let date = CivilDate(daysSince1970: days)
        func pad(_ number: Int64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let day = "\(pad(date.year, 4))-\(pad(date.month, 2))-\(pad(date.day, 2))"
        let time = "\(pad(rest / 3_600_000, 2)):\(pad(rest / 60_000 % 60, 2)):\(pad(rest / 1000 % 60, 2))"
        return "\(day)T\(time).\(pad(rest % 1000, 3))Z"
    }
}
