import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

@Suite
struct RetryAfterTests {
    private static let now = WallTime(microseconds: 784_111_777_000_000)

    @Test(
        "The three ways to write a date mean the same moment",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func dates(_ text: String) { #expect(HTTPDate.parse(text, year: 1994) == 784_111_777) }

    @Test("Two digits mean a year less than fifty ahead")
    func twoDigits() {
        #expect(HTTPDate.parse("Friday, 20-Nov-26 00:00:00 GMT", year: 2026) == 1_795_132_800)
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", year: 2026) == 784_111_777)
    }

    @Test(
        "What is not a date is none",
        arguments: [
            "", "soon", "Sun, 06 Nov 1994", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Abc 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
        ])
    func nonsense(_ text: String) { #expect(HTTPDate.parse(text, year: 1994) == nil) }

    @Test(
        "Seconds are taken as they are, within a day",
        arguments: [
            ("0", .zero), ("120", .seconds(120)), ("99999999999999999999", .seconds(86_400)), ("-1", nil), ("-", nil),
            ("+5", nil), ("1.5", nil), ("x", nil), ("", nil),
        ] as [(String, Duration?)])
    func seconds(_ row: (String, Duration?)) {
        #expect(RetryAfter.parse(row.0, date: nil, now: Self.now) == row.1)
    }

    @Test("A date counts from the answer's own date, and from our clock only without one")
    func relative() {
        let field = "Sun, 06 Nov 1994 08:50:37 GMT"
        #expect(
            RetryAfter.parse(field, date: "Sun, 06 Nov 1994 08:50:07 GMT", now: Self.now) == .seconds(30))
        #expect(RetryAfter.parse(field, date: nil, now: Self.now) == .seconds(60))
        #expect(RetryAfter.parse(field, date: "Sun, 06 Nov 1994 09:00:00 GMT", now: Self.now) == .zero)
        #expect(RetryAfter.parse("Thu, 01 Jan 1970 00:00:00 GMT", date: nil, now: Self.now) == .zero)
        #expect(RetryAfter.parse("Fri, 31 Dec 9999 23:59:59 GMT", date: nil, now: Self.now) == .seconds(86_400))
    }

    @Test("The spread is upward only, by a tenth and thirty seconds at most")
    func spread() {
        var chance = SeededGenerator(seed: 5)
        for _ in 0..<500 {
            let short = RetryAfter.spread(.seconds(10), using: &chance)
            #expect(short >= .seconds(10) && short <= .seconds(11))
            let long = RetryAfter.spread(.seconds(3600), using: &chance)
            #expect(long >= .seconds(3600) && long <= .seconds(3630))
        }
    }
}
