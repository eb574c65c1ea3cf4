internal import FoundationEssentials
internal import TidegateCore

/// Writes parameters as an XML property list; those of GET, HEAD and DELETE as a query.
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
        // The encoder would write the string "$null".
        if let value = parameters as? JSONValue, value.withoutNulls != value {
            throw .unencodable(path: "", type: "null", format: "a property list")
        }
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        do {
            request.body = .data(Array(try encoder.encode(parameters)))
        } catch {
            throw RequestSerializationError(error, type: type(of: parameters), format: "a property list")
        }
        request.setContentType(self.contentType)
    }
}
