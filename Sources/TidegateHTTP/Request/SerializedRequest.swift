public import HTTPTypes
public import TidegateCore
public import TidegateSession

/// The result of a request serializer: method, URL, header fields and body.
public struct SerializedRequest: Sendable {
    /// A request's body.
    public enum Body: Sendable {
        /// No body.
        case none
        /// These bytes.
        case data([UInt8])
        /// A multipart form, which is read during sending (RFC 7578).
        case multipart(MultipartForm)
    }

    /// The method, a token such as `GET`.
    public var method: String
    /// The URL, absolute or not.
    public var url: String
    /// The header fields, in order.
    public var headers: [HTTPField]
    /// The body.
    public var body: Body

    /// A request with these values.
    public init(method: String, url: String, headers: [HTTPField] = [], body: Body = .none) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// Makes text the body; the content type names its charset, unless the request already has a content type.
    ///
    /// - Throws: ``RequestSerializationError`` if the charset lacks a character of the text.
    public mutating func setText(
        _ text: String, in charset: Charset = .utf8, contentType: String = "text/plain"
    ) throws(RequestSerializationError) {
        guard let bytes = charset.bytes(of: text) else { throw .inexpressible(path: "", charset: charset) }
        self.setContentType("\(contentType); charset=\(charset.rawValue)")
        self.body = .data(bytes)
    }

    /// Sets the content type, unless the request already has one.
    mutating func setContentType(_ type: String) {
        guard self.headers.first(named: .contentType) == nil else { return }
        self.headers.append(HTTPField(name: .contentType, value: type))
    }

    /// Appends to the URL's query, before the fragment; an empty query changes nothing.
    mutating func appendQuery(_ query: String) {
        guard !query.isEmpty else { return }
        let end = self.url.firstIndex(of: "#") ?? self.url.endIndex
        let (base, fragment) = (self.url[..<end], self.url[end...])
        let separator = base.contains("?") ? (base.last == "?" || base.last == "&" ? "" : "&") : "?"
        self.url = base + separator + query + fragment
    }
}

extension TaskRequest {
    /// The request made by a serializer.
    ///
    /// A form that only has data is sent as bytes. Any other form is sent as a stream, with a length if every part has
    /// one, and can only be repeated with ``SessionHooks/newBodyStream``. With `compressing`, the body is sent as gzip.
    /// - Throws: ``TaskError`` with the reason `invalidRequest` and one sentence about the problem, or `fileError` if a
    /// file of a form cannot be read.
    public init(_ serialized: SerializedRequest, compressing: Bool = false) throws(TaskError) {
        var headers = serialized.headers
        var body: RequestBody
        switch serialized.body {
        case .none: body = .none
        case .data(let bytes): body = .data(bytes)
        case .multipart(let form):
            headers.describe(form)
            body = try RequestBody(form)
        }
        if compressing, body != .none {
            body = try body.gzipped()
            headers.append(HTTPField(name: .contentEncoding, value: "gzip"))
        }
        try self.init(url: serialized.url, method: serialized.method, headers: headers, body: body)
    }

    /// The same request with a form as its body.
    ///
    /// A form with files uses a separate stream for each copy.
    /// - Throws: ``TaskError`` with the reason `fileError` if a file of the form cannot be read.
    package func sending(_ form: MultipartForm) throws(TaskError) -> TaskRequest {
        var request = self
        request.headers.describe(form)
        request.body = try RequestBody(form)
        return request
    }
}

extension [HTTPField] {
    /// A server cannot parse the form without its boundary.
    fileprivate mutating func describe(_ form: MultipartForm) {
        self.removeAll { $0.name == .contentType }
        self.append(HTTPField(name: .contentType, value: form.contentType))
    }
}

/// Adds parameters to a request.
public protocol RequestSerializer: Sendable {
    /// Adds the parameters, if any, to the URL or the body; existing header fields are kept.
    ///
    /// - Throws: ``RequestSerializationError``, which names the parameter but never its value.
    func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest) throws(RequestSerializationError)
}

/// Why parameters cannot be sent; the message names the parameter but never its value.
public enum RequestSerializationError: Error, Sendable, CustomStringConvertible {
    /// A query or form consists of named values, but the parameters do not.
    case notAnObject(type: String)
    /// The parameter at this path is infinite or NaN, which JSON and queries cannot express.
    case notFinite(path: String)
    /// The parameter at this path has a type that the format cannot express.
    case unencodable(path: String, type: String, format: String)
    /// The parameter with this name, or the text without a name, has a character that the charset lacks.
    case inexpressible(path: String, charset: Charset)
    /// The closure that makes the query failed.
    case query(any Error)

    /// One clause without a full stop.
    public var description: String {
        switch self {
        case .notAnObject(let type):
            "parameters of type \(type) have no names for a query or a form; give a dictionary or a structure"
        case .notFinite(let path): "\(RequestSerializationError.name(path)) is not a finite number"
        case .unencodable(let path, let type, let format):
            "\(RequestSerializationError.name(path)) is of type \(type), which \(format) cannot express"
        case .inexpressible(let path, let charset):
            "\(path.isEmpty ? "the text" : "the parameter \(path)") has a character that \(charset.rawValue) lacks"
        case .query(let error): "the closure that makes the query failed with \(type(of: error))"
        }
    }

    private static func name(_ path: String) -> String { path.isEmpty ? "the parameter" : "the parameter \(path)" }

    /// An encoder's error, without the value that it quotes.
    init(_ error: any Error, type: Any.Type, format: String) {
        switch error {
        case let error as RequestSerializationError: self = error
        case EncodingError.invalidValue(let value, let context):
            let path = context.codingPath.text
            let isNumber = (value as? Double)?.isFinite == false || (value as? Float)?.isFinite == false
            self =
                isNumber
                ? .notFinite(path: path)
                : .unencodable(path: path, type: "\(Swift.type(of: value))", format: format)
        default: self = .unencodable(path: "", type: "\(type)", format: format)
        }
    }
}

extension [any CodingKey] {
    /// The path in the form that messages use: `user.addresses[0].city`.
    var text: String {
        self.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
    }
}
