public import HTTPTypes

extension HTTPField {
    /// A field from texts.
    ///
    /// White space around the value is dropped.
    /// - Throws: ``HTTPFieldError`` if the name is no token or the value contains a control character (RFC 9110 5.1, 5.5).
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
        // HTTPTypes would replace control characters with spaces, and send something else than was written.
        guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
            throw .value(ofField: name.rawName)
        }
        self.init(name: name, value: value)
    }
}

extension [HTTPField] {
    /// The value of the first field with this name; nil if there is none.
    package func first(named name: HTTPField.Name) -> String? { self.first { $0.name == name }?.value }
}

/// Why a text is not a header field.
public enum HTTPFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text before the colon, or the text given as a name, is no token.
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
