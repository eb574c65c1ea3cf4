import Testing
import Tidegate

@testable import TidegateDaemon

@Suite struct YAMLFileTests {
    @Test("Aliases that multiply are refused before they fill the memory, and others are followed")
    func aliases() throws {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...30 {
            let alias = "*a\(level - 1)"
            text += "a\(level): &a\(level) [\(Array(repeating: alias, count: 10).joined(separator: ", "))]\n"
        }
        let error = #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(
            error?.description == "t.yml: has more than 100000 values with its aliases (*NAME) written out")
        let good = "reachability: {interfaces: {exclude: &x [lo]}, metered: {interfaces: *x}}"
        #expect(try Configuration.parse(good, file: "t.yml").reachability.meteredInterfaces == ["lo"])
    }

    @Test(
        "An alias as a key costs no more than one as a value",
        .timeLimit(.minutes(1)),
        arguments: ["? *a29 : x", "{*a29 : x}", "[{? [*a29] : x}]", "? {*a29 : 1} : x"])
    func aliasAsKey(_ end: String) {
        var text = "a0: &a0 [x, x]\n"
        for level in 1..<30 {
            text += "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ","))]\n"
        }
        text += end.hasPrefix("?") ? "\(end.replacing(" : ", with: "\n: "))\n" : "b: \(end)\n"
        let error = #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error?.description == "t.yml: has more than 100000 values with its aliases (*NAME) written out")
    }

    @Test("Values are counted as often as they are written out, wherever their aliases stand")
    func count() {
        let text = "a: &a [1, 2, &b {k: v}]\nb: [*a, *b, *b]\n? *b\n: *a\n"
        // The mapping; a and its six values; b with six, three and three; the key's three; the last value's six.
        let count = 1 + 1 + 6 + 1 + 1 + 6 + 3 + 3 + 3 + 6
        #expect(!YAMLExpansion.exceeds(count, text))
        #expect(YAMLExpansion.exceeds(count - 1, text))
        #expect(!YAMLExpansion.exceeds(9, "a: [") && !YAMLExpansion.exceeds(1, "") && !YAMLExpansion.exceeds(1, "x"))
    }

    @Test("A key cannot control the terminal that shows the mistake")
    func controlKey() {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse("\"a\\e[2Jb\": 1", file: "t.yml")
        }
        #expect(error?.description == "t.yml:1: unknown key")
    }
}
