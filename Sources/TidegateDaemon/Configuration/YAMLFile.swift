internal import Yams

/// Turns YAML text into nodes that know their lines.
enum YAMLFile {
    /// Parses the text of `file`; nil if it is empty or contains only comments.
    static func parse(_ text: String, file: String) throws(ConfigurationError) -> ConfigurationNode? {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw self.explain(error, file: file)
        } catch {
            throw ConfigurationError(file: file, "invalid YAML: \(error)")
        }
        guard let root else { return nil }
        var remaining = self.maxNodes
        guard let node = self.convert(root, path: "", &remaining) else {
            throw ConfigurationError(
                file: file, "has more than \(self.maxNodes) values with its aliases (*NAME) written out")
        }
        return node
    }

    // More than any configuration needs; each level of nested aliases multiplies them.
    private static let maxNodes = 100_000

    // Nil once `remaining` nodes are used up.
    private static func convert(_ node: Node, path: String, _ remaining: inout Int) -> ConfigurationNode? {
        remaining -= 1
        guard remaining >= 0, let content = self.content(of: node, path: path, &remaining) else { return nil }
        return ConfigurationNode(content: content, line: node.mark?.line ?? 1, path: path)
    }

    private static func content(
        of node: Node, path: String, _ remaining: inout Int
    ) -> ConfigurationNode.Content? {
        switch node {
        case .scalar(let scalar):
            let isPlain = scalar.style == .plain || scalar.style == .any
            return isPlain && ["", "~", "null"].contains(scalar.string) ? .null : .scalar(scalar.string)
        case .sequence(let sequence):
            var elements: [ConfigurationNode] = []
            for (position, element) in sequence.enumerated() {
                guard let node = self.convert(element, path: "\(path)[\(position)]", &remaining) else { return nil }
                elements.append(node)
            }
            return .list(elements)
        case .mapping(let mapping):
            var entries: [ConfigurationNode.Entry] = []
            for (key, value) in mapping {
                let name = key.string ?? ""
                let inner = path.isEmpty ? name : "\(path).\(name)"
                guard let node = self.convert(value, path: inner, &remaining) else { return nil }
                entries.append(.init(key: name, line: key.mark?.line ?? value.mark?.line ?? 1, value: node))
            }
            return .section(entries)
        case .alias: return .null
        }
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
