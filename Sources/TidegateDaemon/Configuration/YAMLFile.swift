internal import Yams

/// Turns YAML text into nodes that know their lines.
enum YAMLFile {
    /// Parses the text of `file`; nil if it is empty or contains only comments.
    static func parse(_ text: String, file: String) throws(ConfigurationError) -> ConfigurationNode? {
        guard !YAMLExpansion.exceeds(self.maxNodes, text) else {
            throw ConfigurationError(
                file: file, "has more than \(self.maxNodes) values with its aliases (*NAME) written out")
        }
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw self.explain(error, file: file)
        } catch {
            throw ConfigurationError(file: file, "invalid YAML: \(error)")
        }
        return root.map { self.convert($0, path: "", file: file) }
    }

    // More than any configuration needs; each level of nested aliases multiplies the number of values.
    private static let maxNodes = 100_000

    private static func convert(_ node: Node, path: String, file: String) -> ConfigurationNode {
        ConfigurationNode(
            content: self.content(of: node, path: path, file: file), file: file, line: node.mark?.line ?? 1, path: path)
    }

    private static func content(of node: Node, path: String, file: String) -> ConfigurationNode.Content {
        switch node {
        case .scalar(let scalar):
            // With the tag !!str the word is a text.
            let isNull = self.isPlain(scalar) && self.nulls.contains(scalar.string) && scalar.tag != Tag(.str)
            return isNull ? .null : .scalar(scalar.string)
        case .sequence(let sequence):
            return .list(
                sequence.enumerated().map { position, element in
                    self.convert(element, path: "\(path)[\(position)]", file: file)
                })
        case .mapping(let mapping):
            return .section(
                self.pairs(of: mapping).map { key, value in
                    let name = key.string ?? ""
                    let inner = path.isEmpty ? name : "\(path).\(name)"
                    return .init(
                        key: name, line: key.mark?.line ?? value.mark?.line ?? 1,
                        value: self.convert(value, path: inner, file: file))
                })
        case .alias: return .null
        }
    }

    private static let nulls: Set = ["", "~", "null", "Null", "NULL"]

    private static func isPlain(_ scalar: Node.Scalar) -> Bool { scalar.style == .plain || scalar.style == .any }

    // MARK: Merge keys

    /// The keys of a mapping with those that its merge key (`<<`) names.
    ///
    /// Own keys win, and of several merged mappings the first that has the key.
    private static func pairs(of mapping: Node.Mapping) -> [Node.Mapping.Element] {
        let own = mapping.filter { self.merged($0.key, $0.value) == nil }
        guard own.count < mapping.count else { return own }
        let merged: [Node.Mapping] = mapping.flatMap { self.merged($0.key, $0.value) ?? [] }
        let others = merged.flatMap { self.pairs(of: $0) }
        var names = Set(own.map { $0.key.string ?? "" })
        return own + others.filter { names.insert($0.key.string ?? "").inserted }
    }

    // The mappings below a merge key; nil for any other key, and for a value that cannot be merged.
    private static func merged(_ key: Node, _ value: Node) -> [Node.Mapping]? {
        guard let name = key.scalar, name.string == "<<", self.isPlain(name) else { return nil }
        let nodes: [Node] = value.sequence.map { Array($0) } ?? [value]
        let mappings = nodes.compactMap { $0.mapping }
        return mappings.count == nodes.count ? mappings : nil
    }

    private static func explain(_ error: YamlError, file: String) -> ConfigurationError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return ConfigurationError(file: file, line: mark.line, "invalid YAML: \(problem) (column \(mark.column))")
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map { "\"\($0)\"" }.joined(separator: ", ")
            return ConfigurationError(file: file, line: context.mark.line, "duplicate key \(names)")
        case .reader(let problem, _, _, _):
            return ConfigurationError(file: file, "invalid YAML: \(problem)")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            return ConfigurationError(file: file, "invalid YAML")
        }
    }
}

/// A node of a configuration file, with its position.
struct ConfigurationNode: Sendable {
    enum Content: Sendable {
        /// `null`, `~` or nothing.
        case null
        /// A string, a number or a boolean, as written.
        case scalar(String)
        case list([ConfigurationNode])
        case section([Entry])
    }

    /// A key with its value.
    struct Entry: Sendable {
        let key: String
        let line: Int
        var value: ConfigurationNode
    }

    var content: Content
    /// The file's name.
    let file: String
    /// The line, from 1.
    let line: Int
    /// The key with its sections: `tasks[0].every`; empty for the whole file.
    let path: String

    /// The path of a key in this section.
    func path(of key: String) -> String { self.path.isEmpty ? key : "\(self.path).\(key)" }

    /// The content for error messages: `"many"`, `a list`, `a mapping`, `nothing`.
    var summary: String {
        switch self.content {
        case .null: "nothing"
        // Text without a key may be another file's.
        case .scalar(let text): self.path.isEmpty || text.utf8.count > 200 ? "a text" : "\"\(text)\""
        case .list: "a list"
        case .section: "a mapping"
        }
    }

    /// The value of `key`; nil if this is not a section or has no such key.
    func value(of key: String) -> ConfigurationNode? {
        self.entries.first { $0.key == key }?.value
    }

    /// The keys of a section; empty if this is not a section.
    var entries: [Entry] {
        if case .section(let entries) = self.content { entries } else { [] }
    }

    /// The elements of a list; empty if this is not a list.
    var elements: [ConfigurationNode] {
        if case .list(let nodes) = self.content { nodes } else { [] }
    }

    /// Adds another file's node for the same key: lists are appended, sections merged; `conflict` is called with a value
    /// that this one has as well.
    mutating func merge(_ other: ConfigurationNode, conflict: (ConfigurationNode, _ first: ConfigurationNode) -> Void) {
        switch (self.content, other.content) {
        case (_, .null): break
        case (.null, _): self = other
        case (.list(let own), .list(let more)): self.content = .list(own + more)
        case (.section(var entries), .section(let more)):
            for entry in more {
                guard let position = entries.firstIndex(where: { $0.key == entry.key }) else {
                    entries.append(entry)
                    continue
                }
                entries[position].value.merge(entry.value, conflict: conflict)
            }
            self.content = .section(entries)
        default: conflict(other, self)
        }
    }

    /// True for a text without characters.
    var isEmptyText: Bool {
        if case .scalar("") = self.content { true } else { false }
    }

    /// False for `null` and for an absent value.
    var isGiven: Bool {
        if case .null = self.content { false } else { true }
    }
}
