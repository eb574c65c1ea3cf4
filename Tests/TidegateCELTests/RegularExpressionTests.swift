import Testing
import TidegateCEL
import TidegateCore

struct RegularExpressionTests {
    private static func found(_ pattern: String, _ text: String) throws -> String? {
        try RegularExpression(pattern).firstMatch(in: Array(text.utf8))?.groups[0].map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test(
        "Patterns mean what they mean to RE2",
        arguments: [
            ("a+?", "aaa", "a"), ("^b", "a\nb", nil), ("(?m)^b", "a\nb", "b"), ("b$", "ab\n", nil),
            ("(?m)b$", "ab\n", "b"),
            ("a.b", "a\nb", nil), ("(?s)a.b", "a\nb", "a\nb"), ("a.b", "a\rb", "a\rb"), (#"\x{e9}"#, "café", "é"),
            ("(?i)É", "é", "é"), ("[[:alpha:]]+", "1ab2", "ab"), (#"\pN+"#, "x12", "12"), (#"\Qa.b\E"#, "a.b", "a.b"),
            ("(?P<n>x)y", "xy", "xy"), ("a|ab", "ab", "a"), ("(?U)a+", "aa", "a"), (#"ab\z"#, "ab\n", nil),
        ] as [(String, String, String?)])
    func meaning(_ pattern: String, _ text: String, _ match: String?) throws {
        #expect(try Self.found(pattern, text) == match)
    }

    @Test("A pattern that is none is quoted with the reason")
    func malformed() {
        #expect(throws: TextError.self) { try RegularExpression(":[") }
        do throws(TextError) {
            _ = try RegularExpression("a(b")
        } catch {
            #expect(error.description == "\"a(b\" is not a regular expression: missing ): a(b")
        }
    }

    @Test("Bytes that are no UTF-8 break no search")
    func invalidText() throws {
        let match = try RegularExpression("b(c)").firstMatch(in: [0xFF, 0x61, 0xC3, 0x62, 0x63, 0x80])
        #expect(match?.groups == [[0x62, 0x63], [0x63]])
    }

    @Test("A search takes time in proportion to the text, whatever the expression is", .timeLimit(.minutes(5)))
    func linear() throws {
        let text = Array(String(repeating: "foo", count: 5 << 20).utf8)
        #expect(try !RegularExpression("foo.*bar").matches(text))
        #expect(try !RegularExpression("^(f|o|fo|oo)+$").matches(text + [0x0A, 0x21]))
        #expect(try RegularExpression("f(.|\\n)*o$").matches(text))
    }

    @Test(
        "Templates are expanded as Go does it",
        arguments: [
            ("PONG $1", "PONG one"), ("${1}x", "onex"), ("$1x", ""), ("${second}", "two"), ("$second.", "two."),
            ("$$1", "$1"), ("$9", ""), ("${9", "${9"), ("a$", "a$"), ("$ $0", "$ one-two"), ("${third}", ""),
        ])
    func templates(_ template: String, _ text: String) throws {
        let match = try RegularExpression("(one)-(?P<second>two)(?P<third>!)?").firstMatch(in: Array("one-two".utf8))
        #expect(String(decoding: try #require(match).expanding(template), as: UTF8.self) == text)
    }
}
