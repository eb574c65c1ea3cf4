public import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// The head of a task's response: its status and fields.
public struct TaskResponse: Sendable {
    /// The URL that answered: the last one after redirects, without user information.
    public let url: String
    /// True if this is a response from the session's ``ValidatorStore`` that the server has confirmed by a 304.
    ///
    /// Its fields are the stored ones, updated with those of the 304 (RFC 9111 section 3.2).
    public let isRevalidated: Bool
    let head: ResponseHead

    /// The status, 200 to 599.
    public var status: Int { self.head.status }

    /// Every field, in order, as on the wire.
    public var fields: [HTTPField] { self.head.fields }

    /// The value of the first field with this name, ignoring case; nil if absent.
    public func field(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { name in self.fields.first { $0.name == name }?.value }
    }

    /// The length of the whole body on the wire, according to the response; nil if not given.
    package var expectedBytes: Int64? { self.head.totalLength }

    /// A name for saving the body: that of Content-Disposition (RFC 6266), or else the last segment of the URL's path;
    /// nil if neither provides one.
    ///
    /// It is a valid name of a single file: no directory, no control character, no leading full stop, at most 255
    /// bytes.
    public var suggestedFileName: String? {
        self.namedFile ?? Self.lastSegment(of: self.url).flatMap(Self.sanitized)
    }

    /// The name of Content-Disposition alone, as a valid name of a single file; nil without one.
    package var namedFile: String? {
        self.field("Content-Disposition").flatMap(ContentDisposition.fileName).flatMap(Self.sanitized)
    }

    private static func lastSegment(of url: String) -> String? {
        let path = url.prefix { $0 != "?" && $0 != "#" }.split(separator: "/", omittingEmptySubsequences: false)
        // The parts are the scheme, an empty part, the host, and the path.
        guard path.count > 3, let last = path.last else { return nil }
        return String(validating: PercentEncoding.decode(last), as: UTF8.self)
    }

    /// Turns the text into a file name without directories; nil if nothing is left.
    private static func sanitized(_ text: String) -> String? {
        // By scalars, because a slash with a combining mark or a joiner after it is not the character `/` to Swift.
        let fit = text.unicodeScalars.filter { !Self.isUnfit($0) }
        guard let last = fit.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last else { return nil }
        var rest = Substring(last.drop { $0 == "." || $0 == " " })
        while rest.utf8.count > 255 { rest = rest.dropLast() }
        while rest.last == " " { rest = rest.dropLast() }
        return rest.isEmpty ? nil : String(rest)
    }

    // Control and formatting characters: the latter can make a name look like another one.
    private static func isUnfit(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}

/// The Content-Disposition field (RFC 6266).
private enum ContentDisposition {
    /// The name in the field: that of `filename*` (RFC 8187), or else that of `filename`.
    static func fileName(_ field: String) -> String? {
        var names: [String: String] = [:]
        for (name, value) in self.parameters(field) where names[name] == nil { names[name] = value }
        return names["filename*"].flatMap(self.extended) ?? names["filename"]
    }

    // `; NAME=VALUE`, where the value is a token or a quoted string.
    private static func parameters(_ field: String) -> [(name: String, value: String)] {
        var rest = Substring(field).drop { $0 != ";" }
        var found: [(name: String, value: String)] = []
        while rest.first == ";" {
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst()
            let value = self.value(&rest)
            found.append((name.lowercased().filter { $0 != " " && $0 != "\t" }, value))
            rest = rest.drop { $0 != ";" }
        }
        return found
    }

    private static func value(_ rest: inout Substring) -> String {
        rest = rest.drop { $0 == " " || $0 == "\t" }
        guard rest.first == "\"" else {
            let token = rest.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
            rest = rest.dropFirst(token.count)
            return String(token)
        }
        rest = rest.dropFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            value.append(character == "\\" ? rest.popFirst() ?? character : character)
        }
        return value
    }

    // `UTF-8'en'%e2%82%ac.txt`; nil for other charsets, and for bytes that are not UTF-8.
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return String(validating: PercentEncoding.decode(parts[2]), as: UTF8.self)
    }
}
