internal import TidegateCore
internal import TidegateProbes

/// The YAML text of a configuration or a part of one as written, without its secrets.
enum ConfigurationText {
    static func text(of node: ConfigurationNode) -> String { self.lines(of: node).joined(separator: "\n") + "\n" }

    private static func lines(of node: ConfigurationNode) -> [String] {
        switch node.content {
        case .null: return ["null"]
        case .scalar(let text): return [self.scalar(self.redacted(text))]
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
        guard !Secrets.keys.contains(entry.key) else { return ["\(key): <secret>"] }
        if ["proxy", "proxy_url"].contains(entry.key), case .scalar(let text) = entry.value.content {
            return ["\(key): \((try? Proxy(text)).map { "\($0)" } ?? "<secret>")"]
        }
        if ["headers", "http_headers"].contains(entry.key), case .section(let fields) = entry.value.content,
            !fields.isEmpty
        {
            return ["\(key):"]
                + fields.flatMap { field in
                    guard SecretHeader.mayBeSecret(field.key) else { return self.lines(of: field).map { "  \($0)" } }
                    return ["  \(self.scalar(field.key)): <secret>"]
                }
        }
        switch entry.value.content {
        case .null: return ["\(key): null"]
        case .scalar(let text):
            return ["\(key): \(self.scalar(entry.key == "target" ? Secrets.target(text) : self.redacted(text)))"]
        case .list(let nodes) where nodes.isEmpty: return ["\(key): []"]
        case .section(let entries) where entries.isEmpty: return ["\(key): {}"]
        case .list, .section: return ["\(key):"] + self.lines(of: entry.value).map { "  \($0)" }
        }
    }

    private static func redacted(_ text: String) -> String { text.contains("://") ? Secrets.url(text) : text }

    private static func indented(_ lines: [String], after mark: String) -> [String] {
        lines.enumerated().map { ($0 == 0 ? mark : "  ") + $1 }
    }

    // Quoted as in JSON, unless nothing in the text has a meaning in YAML.
    private static func scalar(_ text: String) -> String {
        text.isWord(with: "./_") && !text.isEmpty ? text : JSONValue.string(text).description
    }
}
