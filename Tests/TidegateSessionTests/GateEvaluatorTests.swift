import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

@Suite
struct GateEvaluatorTests {
    private static func evaluate(
        _ requirements: [Requirement], _ verdict: Verdict, family: ReachabilityLevel = .routed, hint: String? = nil
    ) throws -> GateEvaluator.Admission {
        GateEvaluator.evaluate(
            requirements, target: TargetVerdict(target: try Target("192.0.2.1:80"), verdict: verdict), hint: hint
        ) { _ in Verdict(level: family) }
    }

    private static func message(_ answer: GateEvaluator.Admission) -> String? {
        if case .shut(let shut) = answer { "\(shut.reason.rawValue): \(shut.message)" } else { nil }
    }

    @Test("What is asked for is judged by the target's own verdict")
    func requirements() throws {
        let routed = ScriptedPathSource.routed(over: "eth0", index: 2)
        let costly = ScriptedPathSource.routed(over: "wwan0", index: 3, metered: .guessYes)
        let lost = ScriptedPathSource.lost(.noCarrier)
        #expect(try Self.evaluate([.routed], routed) == .open)
        #expect(try Self.evaluate([], lost) == .open)
        #expect(try Self.evaluate([.none], lost) == .open)
        #expect(try Self.evaluate([.routed, .unmetered, .interface("x"), .online], .unknown) == .open)
        #expect(try Self.message(Self.evaluate([.routed], lost, hint: "eth0")) == "path: no path: eth0 has no carrier")
        #expect(try Self.message(Self.evaluate([.routed], lost)) == "path: no path: the link has no carrier")
        #expect(
            try Self.message(Self.evaluate([.unmetered], lost, hint: "eth0")) == "path: no path: eth0 has no carrier")
        #expect(try Self.evaluate([.unmetered], routed) == .open)
        #expect(try Self.message(Self.evaluate([.unmetered], costly)) == "constraint: the path over wwan0 is metered")
        #expect(try Self.evaluate([.interface("eth0")], routed) == .open)
        #expect(
            try Self.message(Self.evaluate([.interface("wwan0")], routed))
                == "constraint: the path leaves by eth0, not by wwan0")
        #expect(try Self.evaluate([.online], routed, family: .online) == .open)
        #expect(try Self.evaluate([.online], routed, family: .unknown) == .open)
        #expect(
            try Self.message(Self.evaluate([.online], routed, family: .portal))?.hasPrefix("constraint: not online")
                == true)
    }

    @Test("An interface may be asked for by a name that administrators gave it besides")
    func alternativeNames() throws {
        let routed = ScriptedPathSource.routed(over: "enp3s0", index: 2)
        let target = TargetVerdict(target: try Target("192.0.2.1:80"), verdict: routed)
        func evaluate(_ name: String) -> GateEvaluator.Admission {
            GateEvaluator.evaluate(
                [.interface(name)], target: target,
                isInterface: { $1.index == 2 && ["enp3s0", "office"].contains($0) },
                family: { _ in routed })
        }
        #expect(evaluate("office") == .open && evaluate("enp3s0") == .open)
        #expect(Self.message(evaluate("home")) == "constraint: the path leaves by enp3s0, not by home")
    }

    @Test("Every reason has a message of its own", arguments: UnreachableReason.allCases)
    func message(_ reason: UnreachableReason) throws {
        let message = try Self.message(Self.evaluate([.routed], ScriptedPathSource.lost(reason)))
        #expect(message?.hasPrefix("path: no path: ") == true)
    }
}
