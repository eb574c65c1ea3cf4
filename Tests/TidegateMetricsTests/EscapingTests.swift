import Testing

@testable import TidegateMetrics

@Suite struct EscapingTests {
    @Test(
        "Label values are escaped without loss",
        arguments: [
            ("plain", "plain"), ("a\"b", "a\\\"b"), ("a\\b", "a\\\\b"), ("a\nb", "a\\nb"), ("a\tb", "a\tb"),
            ("ü€😀", "ü€😀"), ("", ""), ("\\n", "\\\\n"),
        ])
    func labelValue(_ value: String, _ expected: String) {
        #expect(String(decoding: Escaping.samplePrefix("a", ["x"], [value]), as: UTF8.self) == "a{x=\"\(expected)\"} ")
    }

    @Test("Invalid UTF-8 becomes a replacement character, so that it cannot break a scrape")
    func invalid() {
        let name = String(decoding: [0x65, 0xFF, 0x74, 0xC3] as [UInt8], as: UTF8.self)
        let bytes = Escaping.samplePrefix("a", ["device"], [name])
        #expect(String(validating: bytes, as: UTF8.self) == "a{device=\"e\u{FFFD}t\u{FFFD}\"} ")
    }

    @Test("Only OpenMetrics escapes quotes in help texts")
    func help() {
        let text = "a \"b\" \\ c\nd"
        #expect(String(decoding: Escaping.help(text, for: .openMetrics), as: UTF8.self) == "a \\\"b\\\" \\\\ c\\nd")
        #expect(String(decoding: Escaping.help(text, for: .text), as: UTF8.self) == "a \"b\" \\\\ c\\nd")
    }

    @Test("Labels are in the order of the definition")
    func prefix() {
        let bytes = Escaping.samplePrefix("a_total", ["x", "y"], ["1", "2"])
        #expect(String(decoding: bytes, as: UTF8.self) == "a_total{x=\"1\",y=\"2\"} ")
        #expect(String(decoding: Escaping.samplePrefix("a", [], []), as: UTF8.self) == "a ")
    }
}
