public import FoundationEssentials
internal import TidegateCore

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

    /// Makes the JSON of the parameters the body; without parameters there is none.
    public func serialize(
        _ parameters: (any Encodable)?, into request: inout SerializedRequest
    ) throws(RequestSerializationError) {
        if self.form.writesQuery(request.method) { return try self.form.serialize(parameters, into: &request) }
        guard let parameters else { return }
        let bytes: [UInt8]
        if let value = parameters as? JSONValue {
            try value.checkNumbers()
            bytes = Array(value.description.utf8)
        } else {
            bytes = try Result { Array(try self.encoder.encode(parameters)) }
                .mapError { RequestSerializationError($0, type: type(of: parameters), format: "JSON") }.get()
        }
        request.setContentType(self.contentType)
        request.body = .data(bytes)
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
