internal import TidegateCore
internal import HTTPTypes
internal import TidegateServer

extension Field {
    /// A key with a mapping of response header fields.
    static func configuredHeaders(_ key: String, _ path: SectionPath<Section, [ConfiguredHeader]>) -> Field {
        .named(key) { section, entry, problems in
            guard let name = ConfiguredHeader.Name(rawValue: entry.key) else {
                let names = ConfiguredHeader.Name.allCases.map(\.rawValue)
                let hint = NearestMatch.find(entry.key, among: names).map { " (did you mean \"\($0)\"?)" } ?? ""
                problems.add("this header cannot be configured\(hint)", line: entry.line, key: entry.value.path)
                return
            }
            let header = problems.trying(at: entry.value) { () throws(TextError) in
                try ConfiguredHeader(checking: name, entry.value)
            }
            if let header { section[keyPath: path].append(header) }
        }
    }

    /// A key with a mapping of users to password hashes.
    static func users(_ key: String, _ path: SectionPath<Section, UserTable>) -> Field {
        .named(key) { section, entry, problems in
            let hash = problems.trying(at: entry.value) { () throws(TextError) in
                guard !entry.key.contains(":") else { throw TextError("a user name must not contain a colon") }
                return try BcryptHash(checking: entry.value)
            }
            if let hash { section[keyPath: path][entry.key] = hash }
        }
    }

    private static func named(
        _ key: String, _ read: @escaping @Sendable (inout Section, ConfigurationNode.Entry, inout ProblemList) -> Void
    ) -> Field {
        Field(key: key, isRequired: false) { section, node, problems in
            switch node.content {
            case .null: break
            case .scalar, .list: problems.add("expected a mapping, found \(node.summary)", at: node)
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
        case .list, .section: throw TextError("expected a string, found \(node.summary)")
        }
        guard HTTPField.isValidValue(text) else { throw TextError("contains a control character") }
        guard let header = ConfiguredHeader(name, text) else {
            throw TextError("\"\(text)\" is not one of \(name.values.joined(separator: ", "))")
        }
        self = header
    }
}

extension BcryptHash {
    // The value may be the password itself: it is not quoted.
    fileprivate init(checking node: ConfigurationNode) throws(TextError) {
        guard case .scalar(let text) = node.content, let hash = BcryptHash(text) else {
            throw TextError("not a bcrypt hash; generate one with htpasswd -nBC 10 NAME")
        }
        guard BcryptHash.supportedCosts.contains(hash.cost) else {
            throw TextError("bcrypt cost \(hash.cost) is out of range (4 to 18)")
        }
        self = hash
    }
}
