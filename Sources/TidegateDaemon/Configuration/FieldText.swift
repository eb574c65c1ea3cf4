internal import TidegateCore

/// What `tidegate generate config` and `generate schema` show of a key.
struct FieldText: Sendable {
    /// What stands below a key.
    enum Content: Sendable {
        /// A value, and its JSON Schema.
        case value(JSONValue)
        case section([FieldText])
        /// A list of sections, which is empty by default.
        case sections([FieldText])
    }

    let key: String
    let content: Content
    /// What the key is for, in a sentence or two.
    var sentence = ""
    /// The default as YAML writes it; an example in an entry of a list.
    var standard = "null"
    var isRequired = false

    /// The lines of the file about this key and those below it.
    func lines(indentedBy indent: Int = 0) -> [String] {
        let space = String(repeating: " ", count: indent)
        let comment = self.sentence.isEmpty ? [] : FieldText.wrapped(self.sentence).map { "\(space)# \($0)" }
        switch self.content {
        case .value: return comment + ["\(space)\(self.key): \(self.standard)"]
        case .section(let fields):
            return comment + ["\(space)\(self.key):"] + fields.flatMap { $0.lines(indentedBy: indent + 2) }
        case .sections(let fields):
            // The entry stands in a comment: its lines without the marks are the list.
            var entry = fields.flatMap { $0.lines(indentedBy: 4) }
            if let first = entry.firstIndex(where: { !$0.hasPrefix("    #") }) {
                let line = entry.remove(at: first)
                entry.insert("  - " + line.dropFirst(4), at: first)
            }
            return comment + ["\(space)\(self.key): []"] + (["\(self.key):"] + entry).map { "\(space)# \($0)" }
        }
    }

    private static func wrapped(_ sentence: String) -> [String] {
        sentence.split(separator: " ").reduce(into: []) { lines, word in
            if let last = lines.last, last.count + word.count < 92 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }
}

/// What `tidegate generate config` prints.
package enum ConfigurationTemplate {
    /// A configuration file with every key, its default and a sentence about it.
    package static var text: String {
        let head = """
            # The configuration of tidegate serve: every key with its default. A file needs only the keys that differ.
            # Durations are written as 500ms, 10s, 1m30s, 2h or 7d, and inf where there may be no limit. Entries of lists
            # stand in comments, with examples.
            """
        let sections = ConfigurationSchema.root.compactMap(\.text).map { $0.lines().joined(separator: "\n") }
        return ([head] + sections).joined(separator: "\n\n") + "\n"
    }
}
