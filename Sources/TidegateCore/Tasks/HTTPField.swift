/// One header field of a request or a response, as it stands on the wire.
public struct HTTPField: Sendable, Hashable {
    /// The field's name; comparisons ignore case (RFC 9110 section 5.1).
    public var name: String
    /// The field's value without surrounding white space.
    public var value: String

    /// A field from its parts.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
