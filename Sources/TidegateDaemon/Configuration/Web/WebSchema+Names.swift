internal import TidegateCore
internal import HTTPTypes
internal import TidegateServer

/// The response header fields that an operator may set, in their only spelling, as Prometheus' exporters have them.
private enum ConfigurableHeader: String, CaseIterable {
    case contentSecurityPolicy = "Content-Security-Policy"
    case frameOptions = "X-Frame-Options"
    case contentTypeOptions = "X-Content-Type-Options"
    case xssProtection = "X-XSS-Protection"
    case strictTransportSecurity = "Strict-Transport-Security"

    /// The allowed values; empty if any value is.
    var values: [String] {
        switch self {
        case .frameOptions: ["deny", "sameorigin"]
        case .contentTypeOptions: ["nosniff"]
        case .contentSecurityPolicy, .xssProtection, .strictTransportSecurity: []
        }
    }

    /// The field; nil for an empty value, which adds nothing.
    func field(_ node: ConfigurationNode) throws(TextError) -> HTTPField? {
        let text: String
        switch node.content {
        case .null: text = ""
        case .scalar(let value): text = value
        case .list, .section: throw TextError("expected a string, found \(node.summary)")
        }
        guard HTTPField.isValidValue(text) else { throw TextError("contains a control character") }
        guard self.values.isEmpty || self.values.contains(text) else {
            throw TextError("\"\(text)\" is not one of \(self.values.joined(separator: ", "))")
        }
        return text.isEmpty ? nil : HTTPField.Name(self.rawValue).map { HTTPField(name: $0, value: text) }
    }
}

extension WebSchema {
    /// Adds a response header field.
    @Sendable
    static func readHeader(
        _ http: inout WebConfiguration.HTTP, _ entry: ConfigurationNode.Entry
    ) throws(TextError) {
        guard let header = ConfigurableHeader(rawValue: entry.key) else {
            let names = ConfigurableHeader.allCases.map(\.rawValue)
            let hint = NearestMatch.find(entry.key, among: names).map { " (did you mean \"\($0)\"?)" } ?? ""
            throw TextError("this header cannot be configured\(hint)")
        }
        if let field = try header.field(entry.value) { http.headers.append(field) }
    }

    /// Adds a user with a password hash.
    @Sendable
    static func readUser(
        _ configuration: inout WebConfiguration, _ entry: ConfigurationNode.Entry
    ) throws(TextError) {
        guard !entry.key.contains(":") else { throw TextError("a user name must not contain a colon") }
        configuration.users[entry.key] = try BcryptHash(checking: entry.value)
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
