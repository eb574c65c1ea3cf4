/// A piece of a configuration file that knows where it stands.
struct ConfigurationNode: Sendable {
    /// What the piece is.
    enum Content: Sendable {
        /// `null`, `~` or nothing.
        case null
        /// A text, a number or a truth value, as it was written.
        case scalar(String)
        case list([ConfigurationNode])
        case section([Entry])
    }

    /// A key with its value.
    struct Entry: Sendable {
        let key: String
        let line: Int
        let value: ConfigurationNode
    }

    let content: Content
    /// The line, from 1.
    let line: Int
    /// The key with its sections: `tasks[0].every`; empty for the whole file.
    let path: String

    /// The path of a key in this section.
    func path(of key: String) -> String { self.path.isEmpty ? key : "\(self.path).\(key)" }

    /// What stands here, for messages: `"many"`, `a list`, `a section`, `nothing`.
    var words: String {
        switch self.content {
        case .null: "nothing"
        case .scalar(let text): "\"\(text)\""
        case .list: "a list"
        case .section: "a section"
        }
    }

    /// The piece under `key`; nil where this is no section or has no such key.
    func value(of key: String) -> ConfigurationNode? {
        guard case .section(let entries) = self.content else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The pieces of a list; none where this is none.
    var elements: [ConfigurationNode] {
        if case .list(let nodes) = self.content { nodes } else { [] }
    }
}
