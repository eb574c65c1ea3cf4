import Foundation
import Testing
import Tidegate

@testable import TidegateDaemon

/// The configuration as it leaves the machine in a bug report.
@Suite struct ConfigurationTextTests {
    private static let secret = "hunter2"

    // A file with a value at every key of the schema.
    private static func planted(_ schema: JSONValue, _ value: JSONValue) -> JSONValue {
        if let form = schema["anyOf"]?.elements.first { return self.planted(form, value) }
        switch (schema["type"], schema["properties"]) {
        case (.string("array"), _): return .array([self.planted(schema["items"] ?? .object([]), value)])
        case (.string("object"), .object(let members)):
            return .object(members.map { .init($0.name, self.planted($0.value, value)) })
        case (.string("object"), _):
            return .object([.init("free", self.planted(schema["additionalProperties"] ?? .object([]), value))])
        default: return value
        }
    }

    /// The text of a file in a bug report, and the keys that show a text.
    private static func shown(_ value: String) throws -> (text: String, keys: Set<String>) {
        let main = try JSONValue(parsing: ConfigurationJSONSchema.text.utf8)
        let web = ConfigurationJSONSchema.section(WebSchema.root.compactMap(\.text))
        let file = "\(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString).yml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let text = try [main, web].map { schema in
            try "\(self.planted(schema, .string(value)))".write(toFile: file, atomically: true, encoding: .utf8)
            return try Configuration.redactedText(of: file)
        }.joined()
        let lines = text.split(separator: "\n")
        let keys = lines.indices.compactMap { index -> String? in
            guard lines[index].contains(value) else { return nil }
            // An element of a list belongs to the key above it.
            let line = lines[index].contains(": ") ? lines[index] : lines[..<index].last { $0.hasSuffix(":") }
            return line.map { $0.prefix { $0 != ":" }.trimmingCharacters(in: CharacterSet(charactersIn: " -")) }
        }
        return (text, Set(keys))
    }

    @Test("No part of a URL but its scheme, host and port leaves the machine, at whatever key it stands")
    func urls() throws {
        let url = "http://u:hunter2@h.example:8080/hunter2/x?hunter2=hunter2#hunter2"
        let (text, _) = try Self.shown(url)
        #expect(!text.contains(Self.secret), "\(text)")
        #expect(text.contains("url: \"http://h.example:8080\"\n"), "\(text)")
    }

    @Test("Only listed keys show their values")
    func keys() throws {
        let (text, keys) = try Self.shown(Self.secret)
        #expect(!keys.isEmpty && keys.isSubset(of: ConfigurationText.openKeys), "\(text)")
        // A reader of a bug report needs to know what is asked.
        let asked: Set = ["name", "host", "module", "target", "url", "urls", "server_name", "query_name"]
        #expect(asked.isSubset(of: keys), "\(text)")
        for key in ["on_incident", "headers_file", "username", "client_id", "free", "download", "sha256", "expect"] {
            #expect(!keys.contains(key), "\(key): \(text)")
        }
        #expect(text.contains("\n  on_incident: <set>\n"), "\(text)")
        #expect(text.contains("\nmodules:\n  free:\n    prober: hunter2\n"), "\(text)")
    }

    @Test(
        "A file that is no configuration shows nothing",
        arguments: ["hunter2", "[hunter2, {a: hunter2}]", "a: [[hunter2]]"])
    func nonsense(_ content: String) throws {
        let file = "\(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString).yml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try content.write(toFile: file, atomically: true, encoding: .utf8)
        let text = (try? Configuration.redactedText(of: file)) ?? "refused"
        #expect(!text.contains(Self.secret), "\(text)")
    }
}
