/// A header field that an operator may add to every answer.
package struct ConfiguredHeader: Sendable, Hashable {
    /// The fields that may be configured, spelled as they have to be.
    package enum Name: String, Sendable, CaseIterable {
        case contentSecurityPolicy = "Content-Security-Policy"
        case frameOptions = "X-Frame-Options"
        case contentTypeOptions = "X-Content-Type-Options"
        case xssProtection = "X-XSS-Protection"
        case strictTransportSecurity = "Strict-Transport-Security"

        /// The values that there are; empty where any will do.
        package var values: [String] {
            switch self {
            case .frameOptions: ["deny", "sameorigin"]
            case .contentTypeOptions: ["nosniff"]
            case .contentSecurityPolicy, .xssProtection, .strictTransportSecurity: []
            }
        }
    }

    /// The field.
    package let name: Name
    /// Its value; an empty one leaves the field out.
    package let value: String

    /// A field with a value; nil where the field has no such value.
    package init?(_ name: Name, _ value: String) {
        guard name.values.isEmpty || name.values.contains(value) else { return nil }
        self.name = name
        self.value = value
    }
}

extension Answer {
    /// Puts configured fields in the place of the endpoint's own.
    mutating func carry(_ headers: [ConfiguredHeader]) {
        self.fields += headers.filter { !$0.value.isEmpty }.map { ($0.name.rawValue.lowercased(), $0.value) }
    }
}
