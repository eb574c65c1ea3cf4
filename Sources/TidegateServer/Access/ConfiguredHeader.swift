/// A header field that an operator may add to every response.
package struct ConfiguredHeader: Sendable, Hashable {
    /// The fields that may be configured, in their only spelling.
    package enum Name: String, Sendable, CaseIterable {
        case contentSecurityPolicy = "Content-Security-Policy"
        case frameOptions = "X-Frame-Options"
        case contentTypeOptions = "X-Content-Type-Options"
        case xssProtection = "X-XSS-Protection"
        case strictTransportSecurity = "Strict-Transport-Security"

        /// The allowed values; empty if any value is.
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
    /// Its value; if empty, the field is not added.
    package let value: String

    /// A field with a value; nil if the value is not allowed.
    package init?(_ name: Name, _ value: String) {
        guard name.values.isEmpty || name.values.contains(value) else { return nil }
        self.name = name
        self.value = value
    }
}
