import Foundation
import Testing
import TidegateCore
import TidegateIncidents
import TidegateTestKit

@testable import TidegateCLI

/// Incidents as a list, and as comma-separated values (RFC 4180).
@Suite struct IncidentTextTests {
    @Test(
        "No text becomes a formula, another row or another column, or controls a terminal",
        arguments: [
            ("=1+1", "'=1+1"), ("@x", "'@x"), ("-1", "'-1"), ("a\r\n=HYPERLINK(1)", "a\r\n=HYPERLINK(1)"),
            ("a,\u{301}b", "a,\u{301}b"), ("say \"no\"", "say \"no\""), ("plain", "plain"),
            ("\u{1B}[31mred\u{202E}", "\\u{1b}[31mred\\u{202e}"),
        ])
    func fields(text: String, field: String) async throws {
        let csv = IncidentText.csv(["incidents": [["id": "1", "cause": .string(text), "drops": 2]]])
        let rows = try await CSV.rows(csv)
        #expect(rows.count == 2 && rows[0].count == 18)
        #expect(rows[1] == ["1", "", "", "", "", field, "", "", "", "", "", "", "2", "", "", "", "", ""])
        #expect(csv.utf8.count { $0 == 0x0D } == csv.utf8.count { $0 == 0x0A } && csv.utf8.last == 0x0A)
    }

    @Test("A shown id is the beginning of one incident only, also of those that the list leaves out")
    func ids() throws {
        let start = WallTime(microseconds: 1_790_000_000_000_000)
        var question = IncidentQuestion()
        (question.party, question.since) = (.upstream, start - .seconds(60))
        var answer = IncidentAnswer(to: question, at: start + .seconds(60))
        let all: [(id: String, party: FaultParty, start: WallTime)] = [
            ("019a3c2f-1f4b-7000-8000-000000000001", .upstream, start),
            ("019a3c2f-1f4b-7abc-8000-000000000002", .upstream, start),
            ("019a3c2f-1f4b-7ab0-8000-000000000003", .theirs, start),
            ("019a3c2f-2000-7abc-8000-000000000004", .upstream, start),
            ("019a3c2e-0000-7abc-8000-000000000005", .upstream, start - .seconds(90)),
        ]
        for (id, party, start) in all {
            answer.add(
                Incident(
                    id: id, .network, name: nil, .init(party: party, cause: "c", certainty: .probable), start: start))
        }
        let read = IncidentRead(answer: answer, from: start - .seconds(60), to: start + .seconds(60))
        let lines = IncidentText.lines(read, .plain).dropFirst().prefix(4)
        let shown = lines.map { String($0.trimmingCharacters(in: .whitespaces).prefix { $0 != " " }) }
        #expect(
            shown == [
                "019a3c2f-1f4b-70", "019a3c2f-1f4b-7abc", "019a3c2f-2000", "019a3c2e-0000-7abc-8000-000000000005",
            ])
        for id in shown { #expect(all.count { $0.id.hasPrefix(id) } == 1, "\(id)") }
    }
}

/// Comma-separated values, as Python's parser reads them.
enum CSV {
    static func rows(_ text: String) async throws -> [[String]] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = """
            import csv, json, sys
            with open(sys.argv[1], newline="", encoding="utf-8") as file:
                print(json.dumps(list(csv.reader(file, strict=True))))
            """
        let output = try await Program.expect(["python3", "-c", script, file.path])
        return try JSONDecoder().decode([[String]].self, from: Data(output.utf8))
    }
}
