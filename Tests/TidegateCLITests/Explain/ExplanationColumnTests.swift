@testable import TidegateCore
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateCLI

@Suite struct ExplanationColumnTests {
    private static let pieces = [
        "https://portal.example/login?continue=", "2001:db8:1234:5678:9abc:def0:1234:5678", "%2Fa%2Fb", "lladdr",
        "certificate", "\u{7528}\u{6237}\u{540D}", "\u{1B}[31m", "\n", "\u{202E}", "x", "\u{65}\u{301}", "\u{1F9EA}",
        String(repeating: "long", count: 60), "via 10.0.0.1 dev eth0", "",
    ]

    private func clause(_ generator: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...9, using: &generator)).map { _ in
            (Self.pieces.randomElement(using: &generator) ?? "") + (Bool.random(using: &generator) ? " " : "")
        }.joined()
    }

    private func explanation(_ generator: inout SeededGenerator) -> Explanation {
        let ladders = AddressFamily.allCases.map { family in
            Explanation.Ladder(
                family: family,
                rungs: Rung.allCases.map { rung in
                    let status = RungReport.Status.allCases.randomElement(using: &generator) ?? .ok
                    return RungReport(
                        rung: rung, status: status,
                        reason: status == .bad ? UnreachableReason.allCases.randomElement(using: &generator) : nil,
                        evidence: (0..<Int.random(in: 0...3, using: &generator)).map { _ in self.clause(&generator) })
                })
        }
        return Explanation(
            target: self.clause(&generator),
            addresses: [IPAddress("2001:db8:1234:5678:9abc:def0:1234:5678")].compactMap(\.self),
            ladders: ladders, conclusion: .broken, firstFailure: ladders[0].firstFailure,
            party: FaultParty.allCases.randomElement(using: &generator),
            advice: self.clause(&generator))
    }

    @Test("No line is wider than the terminal or 100 columns, and none obeys what others wrote", arguments: 0..<60)
    func columns(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let explanation = self.explanation(&generator)
        for width in [40, 57, 80, 100, 250] {
            let lines = ExplanationText.lines(explanation, TextStyle(isColored: false, width: width))
            for line in lines {
                #expect(LineWrapper.columns(of: line) <= min(width, 100), "\(line)")
                #expect(line == LineWrapper.printable(line), "\(line)")
                #expect(line.last != " ", "\(line)")
            }
            // Colours change nothing but the colour.
            let colored = ExplanationText.lines(explanation, TextStyle(isColored: true, width: width))
            #expect(colored.map { $0.replacing(/\u{1B}\[[0-9]+m/, with: "") } == lines)
        }
    }

    @Test("A long URL is cut where its parts begin, and loses nothing")
    func longURL() {
        let url = "https://a.example/one/two/three?four=five&six=seven#eight"
        let lines = LineWrapper.lines(url, to: 20)
        #expect(lines == ["https://a.example/", "one/two/three?four=", "five&six=seven#eight"])
        #expect(lines.joined() == url)
        #expect(LineWrapper.lines(String(repeating: "a", count: 45), to: 20).map(\.count) == [20, 20, 5])
    }

    @Test("Words stay whole where they fit, and nothing is a line all the same")
    func wrapping() {
        #expect(LineWrapper.lines("the quick brown fox", to: 10) == ["the quick", "brown fox"])
        #expect(LineWrapper.lines("", to: 10) == [""])
        #expect(LineWrapper.lines("  spaces   between ", to: 20) == ["spaces between"])
        #expect(LineWrapper.printable("a\u{1B}[1mb\u{7}\u{202E}c") == "a?[1mb??c")
    }
}
