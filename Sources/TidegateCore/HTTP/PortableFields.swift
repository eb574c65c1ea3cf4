package import HTTPTypes

/// Which fields of a request are no secrets, and which go with its body.
package enum PortableFields {
    /// The fields that another origin gets, too; none of them is a secret.
    ///
    /// Idempotency-Key is one of them because a request may be repeated only with it.
    private static let portable: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "idempotency-key",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma", "range",
        "user-agent",
    ]

    /// The fields that describe a body, and go with it (RFC 9110 15.4, RFC 9530).
    private static let descriptive: Set<String> = [
        "content-digest", "content-disposition", "content-encoding", "content-language", "content-length",
        "content-location", "content-range", "content-type", "digest", "last-modified", "repr-digest",
        "transfer-encoding",
    ]

    /// True for a field that is sent to another origin, too.
    package static func mayCrossOrigins(_ name: HTTPField.Name) -> Bool {
        self.portable.contains(name.canonicalName) || self.describesBody(name)
    }

    /// True for a field that a request without its body does not have.
    package static func describesBody(_ name: HTTPField.Name) -> Bool { self.descriptive.contains(name.canonicalName) }
}
