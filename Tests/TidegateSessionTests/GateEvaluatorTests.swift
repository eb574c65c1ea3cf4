import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateSession

@Suite
struct GateEvaluatorTests {
    private static func judge(
        _ requirements: [Requirement], _ verdict: Verdict, family: ReachabilityLevel = .routed, hint: String? = nil
    ) throws -> GateEvaluator.Admission {
        GateEvaluator.evaluate(
            requirements, target: TargetVerdict(target: try Target("192.0.2.1:80"), verdict: verdict), hint: hint
        ) { _ in Verdict(level: family) }
    }

    private static func words(_ answer: GateEvaluator.Admission) -> String? {
        if case .shut(let shut) = answer { "\(shut.reason.rawValue): \(shut.message)" } else { nil }
    }

    @Test("What is asked for is judged by the target's own verdict")
    func requirements() throws {
        let routed = ScriptedPathSource.routed(over: "eth0", index: 2)
        let costly = ScriptedPathSource.routed(over: "wwan0", index: 3, metered: .guessYes)
        let lost = ScriptedPathSource.lost(.noCarrier)
        #expect(try Self.judge([.routed], routed) == .open)
        #expect(try Self.judge([], lost) == .open)
        #expect(try Self.judge([.none], lost) == .open)
        #expect(try Self.judge([.routed, .unmetered, .interface("x"), .online], .unknown) == .open)
        #expect(try Self.words(Self.judge([.routed], lost, hint: "eth0")) == "path: no path: eth0 has no carrier")
        #expect(try Self.words(Self.judge([.routed], lost)) == "path: no path: the link has no carrier")
        #expect(try Self.words(Self.judge([.unmetered], lost, hint: "eth0")) == "path: no path: eth0 has no carrier")
        #expect(try Self.judge([.unmetered], routed) == .open)
        #expect(try Self.words(Self.judge([.unmetered], costly)) == "constraint: the path over wwan0 is metered")
        #expect(try Self.judge([.interface("eth0")], routed) == .open)
        #expect(
            try Self.words(Self.judge([.interface("wwan0")], routed))
                == "constraint: the path leaves by eth0, not by wwan0")
        #expect(try Self.judge([.online], routed, family: .online) == .open)
        #expect(try Self.judge([.online], routed, family: .unknown) == .open)
        #expect(
            try Self.words(Self.judge([.online], routed, family: .portal))?.hasPrefix("constraint: not online") == true)
    }

    @Test("An interface may be asked for by a name that administrators gave it besides")
    func alternativeNames() throws {
        let routed = ScriptedPathSource.routed(over: "enp3s0", index: 2)
        let target = TargetVerdict(target: try Target("192.0.2.1:80"), verdict: routed)
        func judge(_ name: String) -> GateEvaluator.Admission {
            GateEvaluator.evaluate(
                [.interface(name)], target: target,
                isInterface: { $1.index == 2 && ["enp3s0", "office"].contains($0) },
                family: { _ in routed })
        }
        #expect(judge("office") == .open && judge("enp3s0") == .open)
        #expect(Self.words(judge("home")) == "constraint: the path leaves by enp3s0, not by home")
    }

    @Test("Every reason has words of its own", arguments: UnreachableReason.allCases)
    func words(_ reason: UnreachableReason) throws {
        let words = try Self.words(Self.judge([.routed], ScriptedPathSource.lost(reason)))
        #expect(words?.hasPrefix("path: no path: ") == true)
    }
}
