import Testing
import TidegateCore

struct CivilDateTests {
    @Test(
        "Days and dates",
        arguments: [
            (0, 1970, 1, 1), (-1, 1969, 12, 31), (11_016, 2000, 2, 29), (11_017, 2000, 3, 1), (20_777, 2026, 11, 20),
            (-25_509, 1900, 2, 28), (-25_508, 1900, 3, 1), (-719_162, 1, 1, 1), (-719_163, 0, 12, 31),
            (-719_528, 0, 1, 1), (2_932_896, 9999, 12, 31),
        ] as [(Int64, Int64, Int64, Int64)])
    func days(_ days: Int64, _ year: Int64, _ month: Int64, _ day: Int64) {
        let date = CivilDate(year: year, month: month, day: day)
        #expect(CivilDate(daysSince1970: days) == date)
        #expect(date.daysSince1970 == days)
    }

    @Test("Every day of 800 years follows the one before it")
    func sequence() {
        var last = CivilDate(daysSince1970: -146_098)
        for days in Int64(-146_097)...146_097 {
            let date = CivilDate(daysSince1970: days)
            #expect(date.daysSince1970 == days)
            let isNext =
                date.year == last.year && date.month == last.month && date.day == last.day + 1
                || date.day == 1 && last.day >= 28
                    && (date.month == last.month + 1 || date.month == 1 && last.month == 12)
            #expect(isNext)
            last = date
        }
    }
}
