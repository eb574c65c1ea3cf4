public import HTTPTypes

extension HTTPField {
    /// A field from texts.
    ///
    /// White space around the value is dropped.
    /// - Throws: ``HTTPFieldError`` if the name is not a token or the value contains a control character (RFC 9110 5.1,
    ///   5.5).
    public init(_ name: String, _ value: String) throws(HTTPFieldError) {
        guard let token = HTTPField.Name(name) else { throw .name(name) }
        try self.init(token, value)
    }

    /// Parses `Name: value`.
    ///
    /// - Throws: ``HTTPFieldError`` if the text has another form, or its value a control character.
    package init(parsing text: String) throws(HTTPFieldError) {
        guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon])) else {
            throw .line(text)
        }
        try self.init(name, String(text[text.index(after: colon)...]))
    }

    /// Parses `Name: value`; the error quotes the text.
    package init(line: String) throws(TextError) {
        do throws(HTTPFieldError) {
            try self.init(parsing: line)
        } catch {
            throw TextError(error.description)
        }
    }

    private init(_ name: Name, _ value: String) throws(HTTPFieldError) {
        // HTTPTypes would replace control characters with spaces, which would send a different value.
        guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
            throw .value(ofField: name.rawName)
        }
        self.init(name: name, value: value)
    }
}

extension [HTTPField] {
    /// The value of the first field with this name; nil without one.
    package func first(named name: HTTPField.Name) -> String? { self.first { $0.name == name }?.value }
}

/// Why a text is not a header field.
public enum HTTPFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text before the colon, or the text given as a name, is not a token.
    case name(String)
    /// The value of the field with this name contains a control character.
    case value(ofField: String)
    /// The text is not `Name: value`.
    case line(String)

    /// One clause without a final full stop.
    public var description: String {
        switch self {
        case .name(let name): "\"\(name)\" is not a header name"
        case .value(let name): "the value of the header \(name) contains a control character"
        case .line(let text): "\"\(text)\" is not a header field (expected 'Name: value')"
        }
    }
}

extension StringProtocol {
    /// The text without spaces and tabs around it: what HTTP allows around values (OWS, RFC 9110 5.6.3).
    package var trimmingOptionalWhitespace: String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        return String(self.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}

/// Which fields of a request are not secret, and which belong to its body.
package enum PortableFields {
    /// The fields that another origin also gets; none of them is a secret.
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

    /// True for a field that is also sent to another origin.
    package static func mayCrossOrigins(_ name: HTTPField.Name) -> Bool {
        self.portable.contains(name.canonicalName) || self.describesBody(name)
    }

    /// True for a field that a request has only together with a body.
    package static func describesBody(_ name: HTTPField.Name) -> Bool { self.descriptive.contains(name.canonicalName) }
}
