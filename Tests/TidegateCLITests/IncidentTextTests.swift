import Testing
import TidegateCore

@testable import TidegateCLI

/// Incidents as comma-separated values (RFC 4180).
@Suite struct IncidentTextTests {
    @Test(
        "No text becomes a formula, another row or another column",
        arguments: [
            ("=1+1", "'=1+1"), ("@x", "'@x"), ("-1", "'-1"), ("a\r\n=HYPERLINK(1)", "\"a\r\n=HYPERLINK(1)\""),
            ("a,\u{301}b", "\"a,\u{301}b\""), ("say \"no\"", "\"say \"\"no\"\"\""), ("plain", "plain"),
        ])
    func fields(text: String, field: String) {
        let rows = IncidentText.csv(["incidents": [["id": "1", "cause": .string(text), "drops": 2]]])
        #expect(rows.count == 2 && rows.allSatisfy { $0.utf8.last == 0x0D })
        #expect(rows[1] == "1,,,,,\(field),,,,,,,2,,,,,\r")
    }
}
