public import FoundationEssentials
internal import TidegateCore

/// Writes parameters into the URL's query or into a form: `application/x-www-form-urlencoded`.
public struct FormRequestSerializer: RequestSerializer {
    /// A name with its value, without percent-encoding; a nil value means a name only.
    public typealias Pair = (name: String, value: String?)

    /// The methods with parameters in the URL, in capitals; all others have them in the body.
    public var methodsWithQuery: Set<String> = ["GET", "HEAD", "DELETE"]
    /// How names and values are written.
    public var encoding = QueryEncoding()
    /// The content type of a form, unless the request already has one.
    public var contentType = "application/x-www-form-urlencoded"
    /// The charset of a form; any other than UTF-8 is named in its content type.
    ///
    /// Names and values are percent-encoded in this charset, but in UTF-8 for UTF-16, whose bytes are not ASCII.
    /// A character that the charset lacks is an error. A query in the URL is always UTF-8.
    public var charset = Charset.utf8
    /// Makes the query, including its encoding, instead of ``encoding``.
    public var query: (@Sendable ([Pair]) throws -> String)?

    /// A serializer with AFNetworking's rules.
    public init() {}

    /// Adds the query to the URL before its fragment, or uses it as the body.
    ///
    /// Without parameters, the URL is unchanged and a body is empty.
    public func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest
    ) throws(RequestSerializationError) {
        let isInURL = self.writesQuery(request.method)
        let query = if let parameters { try self.text(of: parameters, in: isInURL ? .utf8 : self.charset) } else { "" }
        if isInURL { return request.appendQuery(query) }
        if self.charset == .utf8 { request.setContentType(self.contentType) }
        try request.setText(query, in: self.charset, contentType: self.contentType)
    }

    /// Uses the output of `encode` as the body; for methods without a body, writes the parameters into the URL.
    fileprivate func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest, as contentType: String, format: String,
        encode: (any Encodable) throws -> [UInt8]
    ) throws(RequestSerializationError) {
        if self.writesQuery(request.method) { return try self.serialize(parameters, into: &request) }
        guard let parameters else { return }
        let body = try Result { try encode(parameters) }
            .mapError { RequestSerializationError($0, type: type(of: parameters), format: format) }.get()
        request.setContentType(contentType)
        request.body = .data(body)
    }

    private func writesQuery(_ method: String) -> Bool { self.methodsWithQuery.contains(method.uppercased()) }

    private func text(of parameters: any Encodable, in charset: Charset) throws(RequestSerializationError) -> String {
        guard let query = self.query else { return try self.encoding.query(of: parameters, in: charset) }
        let pairs = try self.encoding.pairs(of: parameters)
        return try Result { try query(pairs.map { ($0.name, self.encoding.text(of: $0)) }) }
            .mapError(RequestSerializationError.query).get()
    }
}

/// Writes parameters as JSON (RFC 8259); those of GET, HEAD and DELETE as a query.
public struct JSONRequestSerializer: RequestSerializer {
    /// Serializes the parameters of methods without a body.
    public var form = FormRequestSerializer()
    /// Encodes all values except `JSONValue`, whose members keep their order.
    public var encoder: JSONEncoder
    /// The content type, unless the request already has one.
    public var contentType = "application/json"

    /// A serializer whose encoder does not escape slashes.
    public init() {
        self.encoder = JSONEncoder()
        self.encoder.outputFormatting = .withoutEscapingSlashes
    }

    /// Uses the parameters as a JSON body; without parameters the request has no body.
    public func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest
    ) throws(RequestSerializationError) {
        try self.form.serialize(parameters, into: &request, as: self.contentType, format: "JSON") { parameters in
            guard let value = parameters as? JSONValue else { return Array(try self.encoder.encode(parameters)) }
            try value.checkNumbers()
            return Array(value.description.utf8)
        }
    }
}

extension JSONValue {
    /// JSON has neither infinity nor NaN (RFC 8259 section 6).
    fileprivate func checkNumbers(_ path: String = "") throws(RequestSerializationError) {
        switch self {
        case .number(let number): if !number.isFinite { throw .notFinite(path: path) }
        case .array(let values):
            for (index, value) in values.enumerated() { try value.checkNumbers("\(path)[\(index)]") }
        case .object(let members):
            for member in members {
                try member.value.checkNumbers(path.isEmpty ? member.name : "\(path).\(member.name)")
            }
        case .null, .bool, .integer, .string: break
        }
    }
}

/// Writes parameters as an XML property list; those of GET, HEAD and DELETE as a query.
///
/// Property lists have no null. Types usually omit optional members that are nil; a nil that is still encoded, such as
/// an array element, is an error.
public struct PropertyListRequestSerializer: RequestSerializer {
    /// Serializes the parameters of methods without a body.
    public var form = FormRequestSerializer()
    /// The content type, unless the request already has one.
    public var contentType = "application/x-plist"

    /// A serializer with the defaults.
    public init() {}

    /// Uses the parameters as a property-list body; without parameters the request has no body.
    public func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest
    ) throws(RequestSerializationError) {
        let format = "a property list"
        try self.form.serialize(parameters, into: &request, as: self.contentType, format: format) { parameters in
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .xml
            let body = Array(try encoder.encode(parameters))
            // The encoder writes a null as a string, which the parameters may also contain.
            if body.contains(Array("<string>$null</string>".utf8)), Self.hasNull(parameters) {
                throw RequestSerializationError.unencodable(path: "", type: "null", format: format)
            }
            return body
        }
    }

    private static func hasNull(_ parameters: any Encodable) -> Bool {
        var hasNull = false
        let encoding = QueryEncoding()
        try? QueryBox(parameters, encoding).visit(encoding, below: nil) { pair in
            if case .none = pair.value { hasNull = true }
        }
        return hasNull
    }
}
