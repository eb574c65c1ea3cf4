import Testing
import Tidegate

@testable import TidegateCLI

/// How the page of an explanation says what failed.
@Suite struct ExplanationHeadlineTests {
    private static func text(_ explanation: Explanation) -> String {
        ExplanationText.lines(explanation, TextStyle(isColored: false, width: 120)).joined(separator: "\n")
    }

    @Test("What failed is said with the evidence if that names the link or the name")
    func headline() {
        var explanation = ExplanationSamples.cableOut
        let report = RungReport(
            rung: .carrier, status: .bad, reason: .noCarrier,
            evidence: ["eth0 has no carrier", "eth0: no carrier, operstate down"])
        explanation.ladders[0].rungs[2] = report
        explanation.firstFailure = report
        let text = Self.text(explanation)
        let indent = String(repeating: " ", count: 18)
        #expect(text.contains("  bad  carrier    eth0 has no carrier\n\(indent)eth0: no carrier, operstate down\n"))
        #expect(text.contains("fails at   carrier: eth0 has no carrier\n"))
        #expect(VerdictDescriptions.isSaid(.lowerLayerDown, by: "the link below eth0.7 is down"))
        #expect(VerdictDescriptions.isSaid(.nameNotFound, by: "api.test has no IPv6 address"))
        #expect(!VerdictDescriptions.isSaid(.noCarrier, by: "eth0 is switched off"))
    }

    @Test("What could not be told is not called well")
    func untoldText() {
        var explanation = ExplanationSamples.noSuchName
        (explanation.firstFailure, explanation.party) = (nil, .unknown)
        let end = "fails at   unknown: not every rung could be checked\nwhose      unknown: nothing tells"
        #expect(Self.text(explanation).contains(end))
    }
}
