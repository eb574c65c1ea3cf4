import Foundation
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
        .timeLimit(.minutes(5)),
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

    @Test("Of many mistakes the first fifty are listed, and the others are counted")
    func manyMistakes() throws {
        let text = (1...1000).map { "key\($0): 1\n" }.joined()
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        let lines = error.description.split(separator: "\n")
        #expect(lines.count == 51 && lines.last == "t.yml: has 950 more problems")
        #expect(lines.first?.hasPrefix("t.yml:1: key1: unknown key") == true)
        #expect(lines[49].hasPrefix("t.yml:50: key50: "))
    }

    @Test("A million keys are refused by the size of their file, and by their number in a directory's files")
    func million() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "million-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func error(_ file: URL) -> String? {
            #expect(throws: ConfigurationError.self) { try Configuration.load(file: file.path) }?.description
        }
        let file = folder.appending(path: "a.yml")
        try (0..<1_000_000).map { "k\($0): 1\n" }.joined().write(to: file, atomically: true, encoding: .utf8)
        #expect(error(file) == "\(file.path): is larger than 1.0 MiB")
        for part in 0..<10 {
            try (0..<100_000).map { "\(part)k\($0): \n" }.joined().write(
                to: folder.appending(path: "\(part).yml"), atomically: true, encoding: .utf8)
        }
        try FileManager.default.removeItem(at: file)
        let first = folder.appending(path: "0.yml").path
        #expect(error(folder) == "\(first): has more than 100000 values with its aliases (*NAME) written out")
    }

    @Test("A merge key adds the keys that its section lacks, and the first of several sections wins")
    func mergeKeys() throws {
        let root = try #require(
            try YAMLFile.parse(
                """
                a: &a {k: 1, l: {m: 1}}
                b: &b
                  <<: *a
                  k: 2
                  n: 2
                c:
                  <<: [{k: 3}, *b]
                  l:
                d: {<<: 5}
                e: {<<: []}
                f: {"<<": {k: 1}}
                """, file: "t.yml"))
        func keys(_ section: String) -> [String] {
            root.value(of: section)?.entries.map { "\($0.line) \($0.value.path) \($0.value.summary)" } ?? []
        }
        #expect(keys("b") == ["4 b.k \"2\"", "5 b.n \"2\"", "1 b.l a mapping"])
        #expect(keys("c") == ["8 c.l nothing", "7 c.k \"3\"", "5 c.n \"2\""])
        #expect(root.value(of: "b")?.value(of: "l")?.value(of: "m")?.path == "b.l.m")
        #expect(keys("d") == ["9 d.<< \"5\""] && keys("e").isEmpty && keys("f") == ["11 f.<< a mapping"])
    }

    @Test("A mistake in a merged section is reported at its line, and what cannot be merged is an unknown key")
    func mergeMistakes() {
        let text = "modules:\n  a: &a\n    prober: http\n    tmeout: 1s\n  b: {<<: *a}\n  c: {prober: tcp, <<: 5}\n"
        let error = #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(
            error?.problems.map(\.description) == [
                "t.yml:4: modules.a.tmeout: unknown key (did you mean \"timeout\"?)",
                "t.yml:4: modules.b.tmeout: unknown key (did you mean \"timeout\"?)",
                "t.yml:6: modules.c: unknown key",
            ])
    }

    @Test("Words of YAML 1.1 are booleans and nulls where one is expected, and texts elsewhere")
    func booleans() throws {
        for (word, value) in [("yes", true), ("On", true), ("TRUE", true), ("no", false), ("Off", false)] {
            let configuration = try Configuration.parse("quality: {active: \(word)}", file: "t.yml")
            #expect(configuration.measuresQuality == value, "\(word)")
        }
        let root = try #require(try YAMLFile.parse("a: Null\nb: !!str null\nc: !!str\nd: ~\ne: yes\n", file: "t.yml"))
        #expect(root.entries.map(\.value.summary) == ["nothing", "\"null\"", "\"\"", "nothing", "\"yes\""])
    }

    @Test("A key cannot control the terminal that shows the mistake")
    func controlKey() {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse("\"a\\e[2Jb\": 1", file: "t.yml")
        }
        #expect(error?.description == "t.yml:1: unknown key")
    }
}
