import Testing
import TidegateCore
import TidegateProbes

struct ProbeTimeoutTests {
    @Test(
        "The shorter one of module and scrape counts, as in blackbox_exporter",
        arguments: [
            (0, "15", 0.5, 14.5), (0, "15", 0, 15), (20, "15", 0.5, 14.5), (20, "15", 0, 15), (5, "15", 0, 5),
            (5, "15", 0.5, 5), (10, "", 0.5, 10), (10, "10", 0.5, 9.5), (9.5, "", 0.5, 9.5), (9.5, "", 1, 9.5),
            (0, "", 0.5, 119.5), (0, "", 0, 120),
        ] as [(Double, String, Double, Double)])
    func table(_ module: Double, _ scrape: String, _ offset: Double, _ expected: Double) throws {
        let limit = try ProbeTimeout.limit(module: .seconds(module), scrape: scrape, offset: .seconds(offset))
        #expect(limit == .seconds(expected))
    }

    @Test("A scrape shorter than the offset leaves the module's timeout")
    func shortScrape() throws {
        #expect(try ProbeTimeout.limit(module: .seconds(3), scrape: "0.2", offset: .milliseconds(500)) == .seconds(3))
    }

    @Test("A scrape without a timeout leaves a day")
    func longScrape() throws {
        #expect(try ProbeTimeout.limit(module: nil, scrape: "1e300", offset: .zero) == .seconds(86_400))
    }

    @Test("What is no number of seconds is refused", arguments: ["x", "1s", "inf", "nan"])
    func malformed(_ text: String) {
        #expect(throws: ProbeRefusal.badTimeout(text)) {
            try ProbeTimeout.limit(module: nil, scrape: text, offset: .zero)
        }
    }
}
