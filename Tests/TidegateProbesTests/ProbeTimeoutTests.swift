import Synchronization
import Testing
import TidegateCore
import TidegateLoop
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

    /// A clock that a stopped process finds far ahead.
    private final class JumpingTime: TimeSource {
        private let ahead = Mutex(Duration.zero)

        func jump(by time: Duration) { self.ahead.withLock { $0 = time } }

        func monotonic() -> MonotonicTime { SystemClock().monotonic() + self.ahead.withLock { $0 } }

        func wall() -> WallTime { SystemClock().wall() }
    }

    @Test("A run that outlasts its limit was stopped with this process, and says nothing of the target")
    func frozen() async throws {
        let time = JumpingTime()
        let fixture = ProbeFixture(
            timeout: .seconds(20),
            path: { _ in
                time.jump(by: .seconds(60))
                return .unknown
            }, time: time)
        let report = try await fixture.probe("http://127.0.0.1:1/")
        #expect(report.failure?.party == .mine && report.isOutage, "\(report)")
        #expect(report.failure?.text.hasPrefix("this process did not run for 40") == true, "\(report)")
    }
}
