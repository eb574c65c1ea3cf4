internal import FoundationEssentials

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

    /// Makes the property list of the parameters the body; without parameters there is none.
    public func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest
    ) throws(RequestSerializationError) {
        if self.form.writesQuery(request.method) { return try self.form.serialize(parameters, into: &request) }
        guard let parameters else { return }
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        do {
            let body = Array(try encoder.encode(parameters))
            // The encoder writes a string for a null; the parameters may have the same string.
            if body.contains(Array("<string>$null</string>".utf8)), Self.hasNull(parameters) {
                throw RequestSerializationError.unencodable(path: "", type: "null", format: "a property list")
            }
            request.body = .data(body)
        } catch {
            throw RequestSerializationError(error, type: type(of: parameters), format: "a property list")
        }
        request.setContentType(self.contentType)
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
