import Testing
import Tidegate

@testable import TidegateDaemon

/// What `tidegate generate schema` prints.
@Suite struct ConfigurationJSONSchemaTests {
    private let schema: JSONValue

    init() throws { self.schema = try JSONValue(parsing: ConfigurationJSONSchema.text.utf8) }

    @Test(
        "The schema accepts files that the sidecar reads",
        arguments: [
            ConfigurationTemplate.text, "journal:\ntransfers: {max_connections: null, gate: {patience: inf}}",
            "tasks: [{name: a, url: \"http://a/\", every: 1m, headers: {A: b}, require: [routed], download: /a}]",
            "transfers: {max_filesize: 1024, tls: {hosts: {a: {ca_file: /a}}}, redirects: free, budget: {tokens: 0.5}}",
            "modules: {a: {prober: http, http: {fail_if_header_matches: [{header: A, regexp: b}]}}}",
            "reachability: {mark: 0xca6c, targets: [{name: a, host: a, port: 443, check: tcp}]}",
        ])
    func valid(_ text: String) throws {
        _ = try Configuration.parse(text, file: "t.yml")
        #expect(Self.accepts(self.schema, try #require(try YAMLFile.parse(text, file: "t.yml"))))
    }

    @Test(
        "The schema refuses mistakes that the sidecar reports",
        arguments: [
            "transfer: {max_connections: 9}", "transfers: {max_conections: 9}", "transfers: {max_connections: 0}",
            "transfers: {max_connections: many}", "transfers: {redirects: never}", "transfers: [a]",
            "transfers: {tls: {hosts: {a: {ca_fil: /a}}}}", "tasks: [{name: a, url: \"http://a/\"}]",
            "tasks: [{name: null, url: \"http://a/\", every: 1m}]", "observation: {loopback: 3, connections: true}",
            "observation: {udp: true}", "modules: {a: {prober: http, http: {enable_http3: true}}}",
            "transfers: {retry: {statuses: 503}}", "transfers: {retry: {statuses: [200]}}",
        ])
    func invalid(_ text: String) throws {
        #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(!Self.accepts(self.schema, try #require(try YAMLFile.parse(text, file: "t.yml"))))
    }

    @Test("A key is described by its sentence")
    func descriptions() {
        let key = self.schema["properties"]?["transfers"]?["anyOf"]?.first?["properties"]?["max_connections"]
        #expect(key?["description"] == .string("The maximum number of connections in total."))
    }

    // What the schema uses of JSON Schema.
    private static func accepts(_ schema: JSONValue, _ node: ConfigurationNode) -> Bool {
        if case .array(let forms) = schema["anyOf"] { return forms.contains { self.accepts($0, node) } }
        if case .array(let texts) = schema["enum"] {
            guard case .scalar(let text) = node.content else { return false }
            return texts.contains(.string(text)) || texts.contains(.bool(text == "true"))
        }
        switch (schema["type"], node.content) {
        case (nil, _), (.string("null"), .null), (.array, .scalar): return true
        case (.string("boolean"), .scalar(let text)): return ["true", "false"].contains(text)
        case (.string("integer"), .scalar(let text)), (.string("number"), .scalar(let text)):
            guard let number = Double(text), let least = schema["minimum"]?.double, let most = schema["maximum"]?.double
            else { return false }
            return least <= number && number <= most
        case (.string("array"), .list(let nodes)):
            return nodes.allSatisfy { self.accepts(schema["items"] ?? .null, $0) }
        case (.string("object"), .section(let entries)):
            let required = if case .array(let keys) = schema["required"] { keys } else { [JSONValue]() }
            return required.allSatisfy { key in entries.contains { .string($0.key) == key } }
                && entries.allSatisfy { entry in
                    let value = schema["properties"]?[entry.key] ?? schema["additionalProperties"] ?? .null
                    return value != .bool(false) && self.accepts(value, entry.value)
                }
        default: return false
        }
    }
}

extension JSONValue {
    fileprivate var first: JSONValue? { if case .array(let values) = self { values.first } else { nil } }

    fileprivate var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }
}
