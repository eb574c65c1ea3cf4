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

    @Test("A key cannot control the terminal that shows the mistake")
    func controlKey() {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse("\"a\\e[2Jb\": 1", file: "t.yml")
        }
        #expect(error?.description == "t.yml:1: a\\u{1b}[2Jb: unknown key")
    }
}
