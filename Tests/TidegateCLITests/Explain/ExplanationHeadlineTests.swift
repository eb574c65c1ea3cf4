import Testing
import Tidegate

@testable import TidegateCLI

/// How the page of an explanation says what failed.
@Suite struct ExplanationHeadlineTests {
    private static func text(_ explanation: Explanation) -> String {
        ExplanationText.lines(explanation, TextStyle(isColored: false, width: 120)).joined(separator: "\n")
    }

    @Test("The headline of a failed rung is its reason, about the link at fault")
    func headline() {
        var explanation = ExplanationSamples.cableOut
        let report = RungReport(
            rung: .carrier, status: .bad, reason: .noCarrier, link: "eth0",
            evidence: ["eth0: no carrier, operstate down"])
        explanation.ladders[0].rungs[2] = report
        explanation.firstFailure = report
        let text = Self.text(explanation)
        let indent = String(repeating: " ", count: 18)
        #expect(text.contains("  bad  carrier    eth0 has no carrier\n\(indent)eth0: no carrier, operstate down\n"))
        #expect(text.contains("fails at   carrier: eth0 has no carrier\n"))
    }

    @Test("A target whose failure could not be found is not reported as reached")
    func undecided() {
        var explanation = ExplanationSamples.noSuchName
        (explanation.firstFailure, explanation.party) = (nil, .unknown)
        let end = "fails at   unknown: not every rung could be checked\nwhose      not known"
        #expect(Self.text(explanation).contains(end))
    }
}
