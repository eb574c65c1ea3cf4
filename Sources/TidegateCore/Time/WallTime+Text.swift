extension WallTime: CustomStringConvertible {
    /// RFC 3339 in UTC with milliseconds: `2026-11-20T23:14:22.123Z`.
    public var description: String {
        let milliseconds = self.microseconds.flooredDivision(by: 1000)
        let (days, rest) = (milliseconds.flooredDivision(by: 86_400_000), milliseconds.flooredRemainder(by: 86_400_000))
        let (year, month, day) = WallTime.civilDate(daysSinceEpoch: days)
        func pad(_ number: Int64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let date = "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))"
        let time = "\(pad(rest / 3_600_000, 2)):\(pad(rest / 60_000 % 60, 2)):\(pad(rest / 1000 % 60, 2))"
        return "\(date)T\(time).\(pad(rest % 1000, 3))Z"
    }

    // Counts years from March so that the leap day is the last of its year; 146,097 days are 400 years.
    private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSinceEpoch + 719_468
        let era = shifted.flooredDivision(by: 146_097)
        let dayOfEra = shifted.flooredRemainder(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
        (self - self.flooredRemainder(by: divisor)) / divisor
    }

    fileprivate func flooredRemainder(by divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
