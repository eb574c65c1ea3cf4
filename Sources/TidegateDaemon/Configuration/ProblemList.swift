internal import TidegateCore

/// Collects the problems of a file while its nodes are read.
struct ProblemList {
    private(set) var entries: [ConfigurationError.Problem] = []

    mutating func add(_ message: String, at node: ConfigurationNode) {
        self.add(message, file: node.file, line: node.line, key: node.path)
    }

    mutating func add(_ message: String, file: String, line: Int, key: String) {
        self.entries.append(.init(file: file, line: line, key: key.isEmpty ? nil : key, message: message))
    }

    /// The result of `body`; nil if it throws, in which case a problem is added.
    mutating func trying<Value>(at node: ConfigurationNode, _ body: () throws(TextError) -> Value) -> Value? {
        do {
            return try body()
        } catch {
            self.add(error.description, at: node)
            return nil
        }
    }

    /// The elements of a list; nil for `null`, and for anything else, which adds a problem.
    mutating func list(_ node: ConfigurationNode) -> [ConfigurationNode]? {
        switch node.content {
        case .null: return nil
        case .list(let nodes): return nodes
        case .scalar, .section:
            self.add("expected a list, found \(node.summary)", at: node)
            return nil
        }
    }

    /// The values of nodes; each invalid one adds a problem.
    mutating func values<Value>(_ nodes: [ConfigurationNode], _ parser: ValueParser<Value>) -> [Value] {
        nodes.compactMap { node in
            self.trying(at: node) { () throws(TextError) in try parser.parse(node) }
        }
    }

    /// Reads a section into `value`; unknown keys and missing keys are problems.
    mutating func read<Section>(_ fields: [Field<Section>], from node: ConfigurationNode, into value: inout Section) {
        switch node.content {
        case .null: self.requireAll(fields, of: node, given: [])
        case .scalar, .list: self.add("expected a mapping, found \(node.summary)", at: node)
        case .section(let entries):
            for entry in entries where !fields.contains(where: { $0.key == entry.key }) {
                let nearest = NearestMatch.find(entry.key, among: fields.map(\.key))
                let hint = nearest.map { " (did you mean \"\($0)\"?)" } ?? ""
                // A line of some other file must not be quoted.
                let key = entry.key.isWord(with: "_-.") ? node.path(of: entry.key) : node.path
                self.add("unknown key\(hint)", file: entry.value.file, line: entry.line, key: key)
            }
            self.requireAll(fields, of: node, given: entries.map(\.key))
            for field in fields {
                guard let entry = entries.first(where: { $0.key == field.key }) else { continue }
                field.read(&value, entry.value, &self)
            }
        }
    }

    /// Checks the keys of a section, or of a list of sections, together.
    mutating func check<Inner>(_ inner: Inner, at node: ConfigurationNode, _ body: SectionCheck.Body<Inner>) {
        var section = SectionCheck(node: node, problems: self)
        body(inner, &section)
        self = section.problems
    }

    private mutating func requireAll<Section>(
        _ fields: [Field<Section>], of node: ConfigurationNode, given keys: [String]
    ) {
        for field in fields where field.text?.isRequired == true && !keys.contains(field.key) {
            self.add("missing key \"\(field.key)\"", at: node)
        }
    }
}

/// A section that has been read, for a check across its keys.
struct SectionCheck {
    typealias Body<Inner> = @Sendable (Inner, inout SectionCheck) -> Void

    let node: ConfigurationNode
    fileprivate(set) var problems: ProblemList

    func isGiven(_ key: String) -> Bool { self.node.value(of: key)?.isGiven ?? false }

    // An empty text excludes no other key: templates write it where they have no value.
    private func isSet(_ key: String) -> Bool { self.isGiven(key) && self.node.value(of: key)?.isEmptyText != true }

    /// Records a problem of one of the section's values, or of the section itself.
    mutating func add(_ message: String, at node: ConfigurationNode? = nil) {
        self.problems.add(message, at: node ?? self.node)
    }

    /// Rejects more than one of the keys.
    mutating func refuse(together keys: [String]) {
        let given = keys.filter(self.isSet)
        if given.count > 1 { self.add("\(given.joined(separator: " and ")) are mutually exclusive") }
    }

    /// Rejects equal values of a key in a list's elements.
    mutating func refuseDuplicates(of key: String, in values: [String]) {
        var seen: Set<String> = [""]
        for (value, node) in zip(values, self.node.elements) where !seen.insert(value).inserted && !value.isEmpty {
            self.add("duplicate \(key) \"\(value)\"", at: node)
        }
    }
}

/// The problems of configuration files, in the order of their names and lines.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One problem.
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The file's name.
        package var file: String
        /// The line, from 1; nil for the whole file.
        package var line: Int?
        /// The key with its sections, such as `transfers.retry.base`; nil if the problem concerns no key.
        package var key: String?
        /// What is wrong, without a full stop.
        package var message: String

        /// `FILE:LINE: KEY: MESSAGE`.
        package var description: String {
            let location = self.line.map { "\(self.file):\($0)" } ?? self.file
            return [location, self.key, self.message].compactMap(\.self).joined(separator: ": ").escapingControls
        }
    }

    /// Never empty.
    package let problems: [Problem]

    // A longer list has one cause, and would hide it.
    private static let mostProblems = 50

    /// The first problems of a list, and the number of those that are left out.
    init(_ problems: [Problem]) {
        let sorted = problems.sorted { ($0.file, $0.line ?? 0) < ($1.file, $1.line ?? 0) }
        let omitted = sorted.dropFirst(Self.mostProblems)
        let note = omitted.last.map { Problem(file: $0.file, message: "has \(omitted.count) more problems") }
        self.problems = Array(sorted.prefix(Self.mostProblems)) + [note].compactMap(\.self)
    }

    /// The problems of several files; nil if there are none.
    init?(_ errors: [ConfigurationError]) {
        guard !errors.isEmpty else { return nil }
        self.problems = errors.flatMap(\.problems)
    }

    init(file: String, line: Int? = nil, _ message: String) {
        self.init([Problem(file: file, line: line, message: message)])
    }

    /// One problem per line.
    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
