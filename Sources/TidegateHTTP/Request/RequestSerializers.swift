public import FoundationEssentials
internal import TidegateCore

/// Writes parameters into the URL's query or into a form: `application/x-www-form-urlencoded`.
public struct FormRequestSerializer: RequestSerializer {
    /// A name with its value, not percent-encoded; nil is a name without a value.
    public typealias Pair = (name: String, value: String?)

    /// The methods whose parameters go into the URL, in capitals; those of all others go into the body.
    public var methodsWithQuery: Set<String> = ["GET", "HEAD", "DELETE"]
    /// How names and values are written.
    public var encoding = QueryEncoding()
    /// The content type of a form, unless the request has one.
    public var contentType = "application/x-www-form-urlencoded"
    /// Makes the query in the place of ``encoding``, and encodes what has to be encoded in it.
    public var query: (@Sendable ([Pair]) throws -> String)?

    /// A serializer with AFNetworking's rules.
    public init() {}

    /// Adds the query to the URL's own, before its fragment, or makes it the body.
    ///
    /// Without parameters the URL is unchanged, and a body is empty.
    public func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest
    ) throws(RequestSerializationError) {
        let query = try parameters.map { parameters throws(RequestSerializationError) in try self.text(of: parameters) }
        if self.writesQuery(request.method) {
            request.appendQuery(query ?? "")
        } else {
            request.setContentType(self.contentType)
            request.body = .data(Array((query ?? "").utf8))
        }
    }

    /// Makes what `encode` writes the body, or writes the parameters of methods without one into the URL.
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

    private func text(of parameters: any Encodable) throws(RequestSerializationError) -> String {
        guard let query = self.query else { return try self.encoding.query(of: parameters) }
        let pairs = try self.encoding.pairs(of: parameters)
        return try Result { try query(pairs.map { ($0.name, self.encoding.text(of: $0)) }) }
            .mapError(RequestSerializationError.query).get()
    }
}

/// Writes parameters as JSON (RFC 8259); those of GET, HEAD and DELETE as a query.
public struct JSONRequestSerializer: RequestSerializer {
    /// Writes the parameters of methods that have no body.
    public var form = FormRequestSerializer()
    /// Writes everything but a `JSONValue`, whose members keep their order.
    public var encoder: JSONEncoder
    /// The content type, unless the request has one.
    public var contentType = "application/json"

    /// A serializer whose encoder leaves slashes as they are.
    public init() {
        self.encoder = JSONEncoder()
        self.encoder.outputFormatting = .withoutEscapingSlashes
    }

    /// Makes the JSON of the parameters the body; without parameters the request has no body.
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
    /// JSON has no infinity and no NaN (RFC 8259 section 6).
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
/// A property list has no null: optional members that are nil are left out by their types' own encoding, and a nil that
/// is encoded all the same, such as an element of an array, is an error.
public struct PropertyListRequestSerializer: RequestSerializer {
    /// Writes the parameters of methods that have no body.
    public var form = FormRequestSerializer()
    /// The content type, unless the request has one.
    public var contentType = "application/x-plist"

    /// A serializer with the defaults.
    public init() {}

    /// Makes the property list of the parameters the body; without parameters the request has no body.
    public func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest
    ) throws(RequestSerializationError) {
        let format = "a property list"
        try self.form.serialize(parameters, into: &request, as: self.contentType, format: format) { parameters in
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .xml
            let body = Array(try encoder.encode(parameters))
            // The encoder writes a string for a null; the parameters may have the same string.
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
