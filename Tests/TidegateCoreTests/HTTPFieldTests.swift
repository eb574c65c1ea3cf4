import HTTPTypes
import Testing
import TidegateCore

@Suite struct HTTPFieldTests {
    @Test("A line becomes a name and a value without the white space around it")
    func lines() throws {
        let field = try HTTPField(parsing: "X-Key: \ta b \t")
        #expect(field.name.rawName == "X-Key" && field.value == "a b")
        #expect(try HTTPField(parsing: "A:").value.isEmpty)
        #expect(try HTTPField("a", "1").name == HTTPField("A", "2").name)
    }

    @Test("What cannot be a field is refused, not changed")
    func errors() {
        #expect(throws: HTTPFieldError.line("nonsense")) { try HTTPField(parsing: "nonsense") }
        #expect(throws: HTTPFieldError.line("A b: c")) { try HTTPField(parsing: "A b: c") }
        #expect(throws: HTTPFieldError.name("")) { try HTTPField("", "x") }
        for value in ["a\r\nB: c", "a\0", "\u{7f}"] {
            #expect(throws: HTTPFieldError.value(ofField: "A")) { try HTTPField("A", value) }
        }
    }
}
