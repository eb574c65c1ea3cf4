/// A node of a configuration file, with its position.
struct ConfigurationNode: Sendable {
    enum Content: Sendable {
        /// `null`, `~` or nothing.
        case null
        /// A string, a number or a boolean, as it was written.
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

    /// The content in error messages: `"many"`, `a list`, `a mapping`, `nothing`.
    var summary: String {
        switch self.content {
        case .null: "nothing"
        case .scalar(let text): "\"\(text)\""
        case .list: "a list"
        case .section: "a mapping"
        }
    }

    /// The value of `key`; nil if this is not a section or has no such key.
    func value(of key: String) -> ConfigurationNode? {
        guard case .section(let entries) = self.content else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The elements of a list; empty if this is not a list.
    var elements: [ConfigurationNode] {
        if case .list(let nodes) = self.content { nodes } else { [] }
    }
}

extension ConfigurationNode {
    /// False for `null` and for nothing.
    var isGiven: Bool {
        if case .null = self.content { false } else { true }
    }
}
