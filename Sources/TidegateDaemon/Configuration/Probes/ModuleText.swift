internal import HTTPTypes
internal import TidegateCore

/// A module in YAML as it was written, without its secrets.
enum ModuleText {
    private static let secrets: Set<String> = [
        "password", "bearer_token", "credentials", "client_secret", "key", "secrets", "proxy_connect_header",
        "metadata",
    ]

    static func text(of node: ConfigurationNode) -> String { self.lines(of: node).joined(separator: "\n") + "\n" }

    private static func lines(of node: ConfigurationNode) -> [String] {
        switch node.content {
        case .null: return ["null"]
        case .scalar(let text): return [self.scalar(text)]
        case .list(let nodes):
            guard !nodes.isEmpty else { return ["[]"] }
            return nodes.flatMap { node in self.indented(self.lines(of: node), after: "- ") }
        case .section(let entries):
            guard !entries.isEmpty else { return ["{}"] }
            return entries.flatMap { entry in self.lines(of: entry) }
        }
    }

    private static func lines(of entry: ConfigurationNode.Entry) -> [String] {
        let key = self.scalar(entry.key)
        guard !self.secrets.contains(entry.key) else { return ["\(key): <secret>"] }
        if entry.key == "proxy_url", case .scalar(let text) = entry.value.content {
            return ["\(key): \((try? Proxy(text)).map { "\($0)" } ?? "<secret>")"]
        }
        if entry.key == "headers", case .section(let fields) = entry.value.content, !fields.isEmpty {
            return ["\(key):"]
                + fields.flatMap { field in
                    let shown = self.isPublic(field) ? self.lines(of: field) : ["\(self.scalar(field.key)): <secret>"]
                    return shown.map { "  \($0)" }
                }
        }
        switch entry.value.content {
        case .null: return ["\(key): null"]
        case .scalar(let text): return ["\(key): \(self.scalar(text))"]
        case .list(let nodes) where nodes.isEmpty: return ["\(key): []"]
        case .section(let entries) where entries.isEmpty: return ["\(key): {}"]
        case .list, .section: return ["\(key):"] + self.lines(of: entry.value).map { "  \($0)" }
        }
    }

    // A field that may not go to another origin may be a secret; Host is none.
    private static func isPublic(_ field: ConfigurationNode.Entry) -> Bool {
        guard let name = HTTPField.Name(field.key) else { return false }
        return name.canonicalName == "host" || PortableFields.mayCrossOrigins(name)
    }

    private static func indented(_ lines: [String], after mark: String) -> [String] {
        lines.enumerated().map { ($0 == 0 ? mark : "  ") + $1 }
    }

    // Quoted as JSON does it, unless nothing in it means anything to YAML.
    private static func scalar(_ text: String) -> String {
        text.isWord(with: "./_") && !text.isEmpty ? text : JSONValue.string(text).description
    }
}
