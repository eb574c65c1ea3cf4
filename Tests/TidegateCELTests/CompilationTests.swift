import Testing
import TidegateCEL

/// Texts that are refused before there is a document.
struct CompilationTests {
    private static func problem(_ text: String) -> String? {
        do throws(CELError) {
            _ = try CELExpression(text, variable: "body")
            return nil
        } catch {
            return error.description
        }
    }

    @Test(
        "A text that is no expression is refused with the column",
        arguments: [
            ("", "a value is expected instead of the end at column 1"),
            ("body.", "a name is expected instead of the end at column 6"),
            ("body == ", "a value is expected instead of the end at column 9"),
            ("body.x == 1 2", "an operator or the end is expected instead of \"2\" at column 13"),
            ("(body.x", "\")\" is expected instead of the end at column 8"),
            ("body.x = 1", "\"=\" is not part of an expression at column 8"),
            ("body.x == 'a", "a string has no end at column 11"),
            (#"'\q'"#, "an escape is unknown at column 2"), (#"'\ud800'"#, "an escape is not a character at column 2"),
            ("9223372036854775808 == 1", "\"9223372036854775808\" does not fit in 64 bits at column 1"),
            ("1e999 > 1.0", "the number is larger than a double holds at column 1"),
            ("other == 1", "\"other\" is not known at column 1"),
            ("body.all(x, y)", "\"y\" is not known at column 13"),
            ("body.x.trim() == ''", "there is no function trim() at column 7"),
            ("size(1) == 1", "there is no size(int) at column 1"),
            ("'a'.startsWith(1)", "there is no string.startsWith(int) at column 4"),
            ("startsWith('a', 'b')", "there is no startsWith(string, string) at column 1"),
            ("1 + 'a' == 2", "\"+\" does not take int and string at column 3"),
            ("1 == 'a'", "\"==\" does not take int and string at column 3"),
            ("1 < 2.0", "\"<\" does not take int and double at column 3"),
            ("1 in [1.0]", "\"in\" does not take int and list at column 3"),
            ("1 && true", "a condition is expected instead of a value of type int at column 1"),
            ("true ? 1 : 'a'", "the values on both sides of \":\" have different types at column 6"),
            ("has(body)", "has() takes a field, such as has(body.name), at column 1"),
            ("body.all(1, true)", "the first argument of all() is not a name at column 10"),
            ("body.x.matches('(')", "\"(\" is not a regular expression: missing ): ( at column 16"),
            ("{1.5: 1} == {}", "a value of type double cannot be a map key at column 2"),
            ("if == 1", "\"if\" is a reserved word at column 1"),
            ("'a'.b", "a value of type string has no field \"b\" at column 4"),
        ])
    func refusals(_ text: String, _ message: String) { #expect(Self.problem(text) == message) }

    @Test(
        "What is nested too deep is refused, and neither the parser nor the evaluator runs out of stack",
        arguments: [
            String(repeating: "(", count: 30_000), String(repeating: "[", count: 30_000),
            String(repeating: "!", count: 30_000) + "true", String(repeating: "-", count: 30_000) + "1 == 1",
            "1" + String(repeating: "+1", count: 10_000) + "==1", "body" + String(repeating: ".a", count: 10_000),
            "body" + String(repeating: "[0]", count: 10_000), String(repeating: "true?true:", count: 3000) + "true",
        ])
    func depth(_ text: String) throws {
        let problem = try #require(Self.problem(text))
        #expect(problem.contains("nested more than"))
    }

    @Test("A text of more than 32 KiB is refused; a chain of conditions is not nested")
    func length() {
        #expect(
            Self.problem(String(repeating: " ", count: 32_765) + "true") == "the expression is longer than 32768 bytes")
        #expect(Self.problem("true" + String(repeating: "&&true", count: 5000)) == nil)
    }

    @Test("Every prefix of an expression compiles or is refused; none ends the process")
    func prefixes() {
        let text =
            #"has(body.a) && body['b'].all(x, x in [1, 2u, .5e1, r"\d", b'\x00']) ? {1: 'é'} == {} : -1 < 2 // x"#
        for length in 0...text.count { _ = Self.problem(String(text.prefix(length))) }
        for length in 0...text.count { _ = Self.problem(String(text.suffix(length))) }
    }
}
