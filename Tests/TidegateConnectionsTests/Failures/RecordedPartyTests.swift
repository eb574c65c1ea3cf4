import Foundation
import Testing
import TidegateAttribution
import TidegateCore
import TidegateTestKit

@testable import TidegateConnections

/// Whose failure the endings of connections are, by everything that is known around them.
struct RecordedPartyTests {
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)

    private static func verdict(
        _ level: ReachabilityLevel, _ gateway: IPAddress? = gateway, notes: [PathWarning] = [], isKnown: Bool = true
    ) -> Verdict {
        let path = NetworkPath(interface: "eth0", index: 2, gateway: gateway)
        return Verdict(
            level: level, reason: level < .routed ? .noRoute : nil, path: isKnown ? path : nil, notes: notes)
    }

    private static let verdicts: [(String, Verdict)] = [
        ("behind gateway", verdict(.routed)), ("on link", verdict(.routed, nil)),
        ("this host", verdict(.routed, nil, notes: [.thisHost])), ("no path", verdict(.none, isKnown: false)),
        ("route unknown", .unknown),
    ]

    @Test("Every outcome, by path, group and resets")
    func parties() throws {
        let groups: [(String, RemotesEvidence?)] = [("group fine", nil), ("group silent", .silent)]
        var answers: [(evidence: String, answer: String)] = []
        for outcome in ConnectionOutcome.allCases {
            for (place, verdict) in Self.verdicts {
                for (name, group) in groups {
                    for (isAnswering, isSettling, resets) in [
                        (false, false, 0), (true, false, 0), (false, true, 0), (false, false, 2), (false, false, 3),
                    ] {
                        var evidence = FailureEvidence(outcome, by: verdict)
                        evidence?.remotes = group ?? (isAnswering ? .answering : nil)
                        evidence?.isSettling = isSettling
                        evidence?.areManyReset = resets >= Thresholds.manyResets
                        let party = evidence.map(DecisionTable.party)
                        let facts = [
                            "\(outcome)", place, name, isAnswering ? "others answer" : "",
                            isSettling ? "path settles" : "", resets > 0 ? "\(resets) resets" : "",
                        ]
                        answers.append(
                            (facts.filter { !$0.isEmpty }.joined(separator: ", "), party?.label ?? "nobody"))
                    }
                }
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("parties")) == [])
    }

    private static func file(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Golden/\(name).txt")
    }
}
