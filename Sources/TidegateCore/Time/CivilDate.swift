/// A day of the Gregorian calendar, extended to the days before its invention.
package struct CivilDate: Sendable, Hashable {
    /// The year; 0 is the one before 1.
    package let year: Int64
    /// 1 to 12.
    package let month: Int64
    /// 1 to 31.
    package let day: Int64

    /// The days before 1970-01-01, counted from the first of March of the year 0.
    private static let daysBefore1970: Int64 = 719_468

    /// A date from its parts, which are not checked.
    package init(year: Int64, month: Int64, day: Int64) {
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// The date that many days after 1970-01-01.
    package init(daysSince1970 days: Int64) {
        // Years are counted from March, so that the leap day is the last of its year; 146,097 days are 400 years.
        let shifted = days + Self.daysBefore1970
        let era = shifted.flooredDivision(by: 146_097)
        let dayOfEra = shifted.flooredRemainder(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        self.month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.year = yearOfEra + era * 400 + (self.month <= 2 ? 1 : 0)
    }

    /// How many days after 1970-01-01 it is; a day beyond its month's last one is one of the next month.
    package var daysSince1970: Int64 {
        let year = self.month <= 2 ? self.year - 1 : self.year
        let era = year.flooredDivision(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (self.month > 2 ? self.month - 3 : self.month + 9) + 2) / 5 + self.day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.daysBefore1970
    }
}

extension Int64 {
    /// The quotient rounded down, also for numbers below 0.
    package func flooredDivision(by divisor: Int64) -> Int64 {
        (self - self.flooredRemainder(by: divisor)) / divisor
    }

    /// The remainder of the rounded quotient: 0 to `divisor` - 1.
    package func flooredRemainder(by divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
