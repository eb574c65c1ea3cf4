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
    /// Without parameters the URL stays as it is, and a body is empty.
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

    /// Whether the parameters of a method go into the URL.
    func writesQuery(_ method: String) -> Bool { self.methodsWithQuery.contains(method.uppercased()) }

    private func text(of parameters: any Encodable) throws(RequestSerializationError) -> String {
        guard let query = self.query else { return try self.encoding.query(of: parameters) }
        let pairs = try self.encoding.pairs(of: parameters)
        return try Result { try query(pairs.map { ($0.name, self.encoding.text(of: $0)) }) }
            .mapError(RequestSerializationError.query).get()
    }
}
