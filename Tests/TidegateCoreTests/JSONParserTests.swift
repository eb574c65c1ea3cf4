import Testing
import TidegateCore

/// Texts that are JSON and texts that are not.
@Suite struct JSONParserTests {
    @Test("Every kind of value, and what a value writes is read again")
    func values() throws {
        let text = #" {"a": [1, -2.5, 1e3, true, false, null, "x\n\u00e9\/"], "b": {}, "a": []} "#
        let value = try JSONValue(parsing: text.utf8)
        let expected: JSONValue = [
            "a": [1, -2.5, .number(1000), true, false, nil, "x\né/"], "b": [:], "a": [],
        ]
        #expect(value == expected)
        #expect(try JSONValue(parsing: value.description.utf8).description == value.description)
        #expect(value["b"] == [:])
        #expect(value["c"] == nil)
        #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF] + "9223372036854775807".utf8) == .integer(.max))
        #expect(try JSONValue(parsing: "-9223372036854775808".utf8) == .integer(.min))
        #expect(try JSONValue(parsing: "-99999999999999999".utf8) == .integer(-99_999_999_999_999_999))
        #expect(try JSONValue(parsing: "9223372036854775808".utf8) == .number(9_223_372_036_854_775_808))
    }

    @Test(
        "The rule that a text breaks, and where",
        arguments: [
            ("", .noValue, 0), ("  ", .noValue, 2), ("{invalid}", .invalidStructure, 1), ("[1,]", .noValue, 3),
            ("[1 2]", .invalidStructure, 3), ("1 1", .trailingBytes, 2), ("01", .invalidNumber, 1),
            ("1.", .endOfText, 2), ("-x", .invalidNumber, 1), ("1e999", .invalidNumber, 0), ("\"a", .endOfText, 2),
            ("\"\t\"", .invalidString, 1), ("\"\\x\"", .invalidEscape, 2), ("\"\\u12G4\"", .invalidEscape, 3),
            ("nul", .noValue, 0), ("NaN", .noValue, 0), ("{\"a\" 1}", .invalidStructure, 5), ("[", .noValue, 1),
        ] as [(String, JSONError.Kind, Int)])
    func errors(text: String, kind: JSONError.Kind, offset: Int) throws {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text.utf8) }
        #expect(error?.kind == kind)
        #expect(error?.offset == offset)
    }

    @Test("Bytes that are not UTF-8, and brackets without end, are refused")
    func hostile() {
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0xC3, 0x28, 0x22]) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: [UInt8](repeating: 0x5B, count: 100_000)) }
    }

    @Test("Without nulls, at every level")
    func withoutNulls() throws {
        let value: JSONValue = ["a": nil, "b": [nil, 1, ["c": nil]], "d": "x"]
        #expect(value.withoutNulls == ["b": [1, [:]], "d": "x"])
    }
}
