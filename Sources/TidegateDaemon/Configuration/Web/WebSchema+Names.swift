internal import HTTPTypes
internal import TidegateServer

extension Field {
    /// A key with header fields of answers, each under its name.
    static func configuredHeaders(_ key: String, _ place: Place<Section, [ConfiguredHeader]>) -> Field {
        .named(key) { section, entry, problems in
            guard let name = ConfiguredHeader.Name(rawValue: entry.key) else {
                let names = ConfiguredHeader.Name.allCases.map(\.rawValue)
                let hint = NearestWord.find(entry.key, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
                problems.add("this header cannot be configured\(hint)", line: entry.line, key: entry.value.path)
                return
            }
            let header = problems.trying(at: entry.value) { () throws(TextError) in
                try ConfiguredHeader(checking: name, entry.value)
            }
            if let header { section[keyPath: place].append(header) }
        }
    }

    /// A key with users, and the hashes of their passwords under their names.
    static func users(_ key: String, _ place: Place<Section, UserTable>) -> Field {
        .named(key) { section, entry, problems in
            let hash = problems.trying(at: entry.value) { () throws(TextError) in
                guard !entry.key.contains(":") else { throw TextError("nobody can log in with a colon in the name") }
                return try BcryptHash(checking: entry.value)
            }
            if let hash { section[keyPath: place][entry.key] = hash }
        }
    }

    private static func named(
        _ key: String, _ read: @escaping @Sendable (inout Section, ConfigurationNode.Entry, inout ProblemList) -> Void
    ) -> Field {
        Field(key: key, isRequired: false) { section, node, problems in
            switch node.content {
            case .null: break
            case .scalar, .list: problems.add("expected names with their values, found \(node.words)", at: node)
            case .section(let entries): for entry in entries { read(&section, entry, &problems) }
            }
        }
    }
}

extension ConfiguredHeader {
    fileprivate init(checking name: Name, _ node: ConfigurationNode) throws(TextError) {
        let text: String
        switch node.content {
        case .null: text = ""
        case .scalar(let value): text = value
        case .list, .section: throw TextError("expected a text, found \(node.words)")
        }
        guard HTTPField.isValidValue(text) else { throw TextError("has a control character in it") }
        guard let header = ConfiguredHeader(name, text) else {
            throw TextError("\"\(text)\" is not one of \(name.values.joined(separator: ", "))")
        }
        self = header
    }
}

extension BcryptHash {
    // What stands in the place of a hash may be the password itself: it is not repeated.
    fileprivate init(checking node: ConfigurationNode) throws(TextError) {
        guard case .scalar(let text) = node.content, let hash = BcryptHash(text) else {
            throw TextError("is not a bcrypt hash: make one with htpasswd -nBC 10 NAME")
        }
        guard BcryptHash.supportedCosts.contains(hash.cost) else {
            throw TextError("a hash of cost \(hash.cost) keeps everybody waiting: 4 to 18 are possible")
        }
        self = hash
    }
}
