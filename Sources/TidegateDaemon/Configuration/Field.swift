internal import HTTPTypes
internal import TidegateCore

/// A key path into a section's value.
typealias SectionPath<Section, Value> = any WritableKeyPath<Section, Value> & Sendable

/// A key of a section, and how to read its value.
struct Field<Section>: Sendable {
    let key: String
    /// The documentation for `tidegate generate`; nil for a key that this version does not support.
    var text: FieldText?
    let read: @Sendable (inout Section, ConfigurationNode, inout ProblemList) -> Void
    /// The keys whose values differ between two sections and need a restart.
    var changes: @Sendable (Section, Section) -> [String] = { _, _ in [] }

    /// A key with one value; `null` leaves the default.
    static func value<Value: Sendable>(
        _ key: String, _ parser: ValueParser<Value>, isRequired: Bool = false,
        set: @escaping @Sendable (inout Section, Value) -> Void
    ) -> Field {
        let text = FieldText(key: key, content: .value(parser.schema), isRequired: isRequired)
        return Field(key: key, text: text) { section, node, problems in
            if case .null = node.content, !isRequired { return }
            if let value = problems.values([node], parser).first { set(&section, value) }
        }
    }

    /// A key with one value, stored at a path.
    static func value<Value: Hashable & Sendable>(
        _ key: String, _ path: SectionPath<Section, Value>, _ parser: ValueParser<Value>, isRequired: Bool = false
    ) -> Field {
        .value(key, parser, isRequired: isRequired) { $0[keyPath: path] = $1 }.compared(path)
    }

    /// A key with one value, stored as an optional.
    static func value<Value: Hashable & Sendable>(
        _ key: String, _ path: SectionPath<Section, Value?>, _ parser: ValueParser<Value>
    ) -> Field {
        .value(key, parser) { $0[keyPath: path] = $1 }.compared(path)
    }

    /// A key with a list of values; `null` leaves the default.
    static func list<Value: Sendable>(
        _ key: String, _ parser: ValueParser<Value>, set: @escaping @Sendable (inout Section, [Value]) -> Void
    ) -> Field {
        let text = FieldText(key: key, content: .value(ConfigurationJSONSchema.list(of: parser.schema)))
        return Field(key: key, text: text) { section, node, problems in
            guard let nodes = problems.list(node) else { return }
            set(&section, problems.values(nodes, parser))
        }
    }

    /// A key with a list of values, stored at a path.
    static func list<Value: Hashable & Sendable>(
        _ key: String, _ path: SectionPath<Section, [Value]>, _ parser: ValueParser<Value>
    ) -> Field {
        .list(key, parser) { $0[keyPath: path] = $1 }.compared(path)
    }

    /// A key with a list of values, stored as an optional.
    static func list<Value: Hashable & Sendable>(
        _ key: String, _ path: SectionPath<Section, [Value]?>, _ parser: ValueParser<Value>
    ) -> Field {
        .list(key, parser) { $0[keyPath: path] = $1 }.compared(path)
    }

    /// A key with a mapping from names to values; `read` handles one entry.
    static func mapping(
        _ key: String, _ read: @escaping @Sendable (inout Section, ConfigurationNode.Entry) throws(TextError) -> Void
    ) -> Field {
        .entries(key) { section, entry, problems in
            _ = problems.trying(at: entry.value) { () throws(TextError) in try read(&section, entry) }
        }
    }

    /// A key with a mapping whose entries have several parts; `read` adds a problem for each invalid part.
    static func entries(
        _ key: String, of values: JSONValue = .object([]),
        _ read: @escaping @Sendable (inout Section, ConfigurationNode.Entry, inout ProblemList) -> Void
    ) -> Field {
        let text = FieldText(key: key, content: .value(ConfigurationJSONSchema.mapping(of: values)))
        return Field(key: key, text: text) { section, node, problems in
            switch node.content {
            case .null: break
            case .scalar, .list: problems.add("expected a mapping, found \(node.summary)", at: node)
            case .section(let entries): for entry in entries { read(&section, entry, &problems) }
            }
        }
    }

    /// A key with the path of a file; an empty text leaves the default.
    static func file(_ key: String, set: @escaping @Sendable (inout Section, String) -> Void) -> Field {
        .value(key, ValueParser<String?>.optionalPath) { section, path in
            if let path { set(&section, path) }
        }
    }

    /// A key with header fields, by field name.
    static func headers(_ key: String, _ add: @escaping @Sendable (inout Section, HTTPField) -> Void) -> Field {
        .mapping(key) { section, entry throws(TextError) in
            let value = try ValueParser<String>.textOrNothing.parse(entry.value)
            add(&section, try HTTPField(line: "\(entry.key): \(value)"))
        }
    }

    /// A key with a section; `check` validates the keys together.
    ///
    /// A reload reports the section as changed, or only its changed keys if it is compared by key.
    static func section<Inner: Hashable & Sendable>(
        _ key: String, _ path: SectionPath<Section, Inner>, _ fields: [Field<Inner>], isComparedByKey: Bool = false,
        check: @escaping SectionCheck.Body<Inner> = { _, _ in }
    ) -> Field {
        var field = Field.section(key, from: { $0[keyPath: path] }, fields, check: check) { $0[keyPath: path] = $1 }
        guard isComparedByKey else { return field.compared(path) }
        field.changes = { old, new in
            fields.flatMap { $0.changes(old[keyPath: path], new[keyPath: path]) }.map { "\(key).\($0)" }
        }
        return field
    }

    /// A key with a section that starts as `start`; `set` stores the result.
    static func section<Inner: Sendable>(
        _ key: String, from start: @escaping @Sendable (Section) -> Inner, _ fields: [Field<Inner>],
        check: @escaping SectionCheck.Body<Inner> = { _, _ in },
        set: @escaping @Sendable (inout Section, Inner) -> Void
    ) -> Field {
        Field(key: key, text: FieldText(key: key, content: .section(fields.compactMap(\.text)))) {
            section, node, problems in
            var inner = start(section)
            problems.read(fields, from: node, into: &inner)
            set(&section, inner)
            problems.check(inner, at: node, check)
        }
    }

    /// A key with a list of sections; each starts from `blank`.
    static func sections<Inner: Hashable & Sendable>(
        _ key: String, _ path: SectionPath<Section, [Inner]>, blank: Inner, _ fields: [Field<Inner>],
        check: @escaping SectionCheck.Body<[Inner]> = { _, _ in }
    ) -> Field {
        Field(key: key, text: FieldText(key: key, content: .sections(fields.compactMap(\.text)))) {
            section, node, problems in
            guard let nodes = problems.list(node) else { return }
            section[keyPath: path] = nodes.map { element in
                var inner = blank
                problems.read(fields, from: element, into: &inner)
                return inner
            }
            problems.check(section[keyPath: path], at: node, check)
        }.compared(path)
    }

    /// The same key; changing its value needs a restart.
    private func compared<Value: Hashable & Sendable>(_ path: SectionPath<Section, Value>) -> Field {
        var field = self
        field.changes = { [key = self.key] in $0[keyPath: path] == $1[keyPath: path] ? [] : [key] }
        return field
    }

    /// The same key; a reload applies its changes.
    var reloaded: Field {
        var field = self
        field.changes = { _, _ in [] }
        return field
    }

    /// The same key with its documentation, and its default as YAML writes it.
    func documented(_ sentence: String, default standard: String = "null") -> Field {
        var field = self
        field.text?.sentence = sentence
        field.text?.standard = standard
        return field
    }

    /// A key of the format that this version does not support.
    static func notAvailable(_ key: String) -> Field { .refused(key, "not available in this version") }

    /// A key of the format that is rejected, with the reason.
    static func refused(_ key: String, _ reason: String) -> Field {
        Field(key: key) { _, node, problems in problems.add(reason, at: node) }
    }
}

/// What `tidegate generate config` and `generate schema` print for a key.
struct FieldText: Sendable {
    /// The content below a key.
    enum Content: Sendable {
        /// A value with its JSON Schema.
        case value(JSONValue)
        case section([FieldText])
        /// A list of sections, empty by default.
        case sections([FieldText])
    }

    let key: String
    let content: Content
    /// What the key does, in a sentence or two.
    var sentence = ""
    /// The default as YAML writes it, or an example in an entry of a list.
    var standard = "null"
    var isRequired = false

    /// The lines of the file for this key and the keys below it.
    func lines(indentedBy indent: Int = 0) -> [String] {
        let space = String(repeating: " ", count: indent)
        let comment = self.sentence.isEmpty ? [] : FieldText.wrapped(self.sentence).map { "\(space)# \($0)" }
        switch self.content {
        case .value: return comment + ["\(space)\(self.key): \(self.standard)"]
        case .section(let fields):
            return comment + ["\(space)\(self.key):"] + fields.flatMap { $0.lines(indentedBy: indent + 2) }
        case .sections(let fields):
            // The entry is commented out: without the marks, its lines are the list.
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

/// The output of `tidegate generate config`.
package enum ConfigurationTemplate {
    /// A configuration file with every key, its default and its documentation.
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

/// The output of `tidegate generate schema`.
package enum ConfigurationJSONSchema {
    /// The JSON Schema (draft 7) of the configuration file, on one line.
    package static var text: String {
        let fields = ConfigurationSchema.root.compactMap(\.text)
        let head = JSONValue.Member("$schema", .string("http://json-schema.org/draft-07/schema#"))
        return self.section(fields, [head]).description
    }

    /// A string, a number or a boolean: keys with text values accept all three.
    static let scalar = JSONValue.object([.init("type", .texts(["string", "number", "boolean"]))])

    static func list(of element: JSONValue) -> JSONValue {
        .object([.init("type", .string("array")), .init("items", element)])
    }

    /// A mapping whose keys are names.
    static func mapping(of value: JSONValue) -> JSONValue {
        .object([.init("type", .string("object")), .init("additionalProperties", value)])
    }

    static func section(_ fields: [FieldText], _ head: [JSONValue.Member] = []) -> JSONValue {
        .object(
            head + [
                .init("type", .string("object")),
                .init("properties", .object(fields.map { .init($0.key, self.property($0)) })),
                .init("required", .texts(fields.filter(\.isRequired).map(\.key))),
                .init("additionalProperties", .bool(false)),
            ])
    }

    private static func property(_ field: FieldText) -> JSONValue {
        let value =
            switch field.content {
            case .value(let schema): schema
            case .section(let fields): self.section(fields)
            case .sections(let fields): self.list(of: self.section(fields))
            }
        // `null` leaves the default.
        let forms = field.isRequired ? [value] : [value, .object([.init("type", .string("null"))])]
        return .object([.init("description", .string(field.sentence)), .init("anyOf", .array(forms))])
    }
}
