import Testing
import Tidegate

@testable import TidegateCLI
@testable import TidegateReachability

/// What `wait` and `run` say while they wait.
@Suite struct WaitTextTests {
    private func progress(
        _ seconds: Int, _ message: String? = nil, held: Int = 0, of wait: WaitConfiguration
    ) -> String {
        let unmet = message.map {
            UnmetCondition(condition: wait.conditions[0], rung: .dns, reason: .resolverTimeout, message: $0)
        }
        return WaitText.progress(
            WaitProgress(elapsed: .seconds(seconds), unmet: unmet, hasNewRung: false, held: .seconds(held)), of: wait)
    }

    @Test("The line names the condition, what is missing, and how long it has been and may be")
    func progress() {
        #expect(
            self.progress(3, "no resolver has answered yet", of: WaitConfiguration([.dns], timeout: .seconds(120)))
                == "waiting 3 s of 2 min for dns: no resolver has answered yet")
        #expect(
            self.progress(75, "v0 has no carrier", of: WaitConfiguration([.route(family: .ipv4)]))
                == "waiting 1 min 15 s for route:v4: v0 has no carrier")
    }

    @Test("Conditions that hold, but not for long enough, are named with the time")
    func stable() {
        let both = WaitConfiguration([.dns, .gateway], stable: .seconds(5), timeout: .seconds(60))
        #expect(
            self.progress(4, held: 2, of: both) == "waiting 4 s of 1 min for dns and gateway, which hold for 2 s of 5 s"
        )
        let one = WaitConfiguration([.dns, .gateway], isAnyEnough: true, stable: .seconds(5))
        #expect(self.progress(4, held: 2, of: one) == "waiting 4 s for dns or gateway, which holds for 2 s of 5 s")
        #expect(WaitText.start(both) == "waiting for dns and gateway")
    }

    @Test("A refreshed line never wraps, and never controls the terminal")
    func cut() {
        #expect(LineWrapper.cut("waiting", to: 7) == "waiting")
        #expect(LineWrapper.cut("waiting for", to: 7) == "waitin…")
        #expect(LineWrapper.cut("a\u{1B}[2Jb", to: 20) == "a?[2Jb")
        #expect(LineWrapper.cut("漢字漢字", to: 6) == "漢字…")
    }
}
