public import FoundationEssentials
public import TidegateSerialization

/// How a client writes requests and reads responses.
public struct HTTPClientConfiguration: Sendable {
    /// Writes what is given as `parameters`: by default into the query of GET, HEAD and DELETE, into a form for all
    /// others.
    public var requestSerializer: any RequestSerializer = FormRequestSerializer()
    /// Writes what is given as `json`.
    public var jsonSerializer = JSONRequestSerializer()
    /// What a response has to fulfil, by default a status from 200 to 299.
    ///
    /// Of a response with another status that is accepted here, the first 64 KiB of the body are kept.
    public var rules = [ResponseRule.success]
    /// Reads the values of typed calls.
    public var decoder = JSONDecoder()
    /// True leaves out members and elements of JSON that are `null` before a value is read.
    public var removesNulls = false
    /// True compresses bodies with gzip, which not every server takes (RFC 7694).
    public var compressesBodies = false
    /// How many bytes a response may have; a longer one fails as `tooLarge`.
    public var bodyLimit = 16 << 20
    /// Changes every request before its task is made: its timeouts, its gate, how it is retried.
    public var prepare: (@Sendable (inout TaskRequest) -> Void)?

    /// The defaults.
    public init() {}
}

/// What a request carries.
public enum HTTPContent: Sendable {
    /// Nothing, not even an empty form.
    case none
    /// Parameters, written by the client's request serializer; nil is what that makes of none.
    case parameters((any Encodable & Sendable)?)
    /// A value as JSON.
    case json(any Encodable & Sendable)
    /// A multipart form, read while it is sent.
    case multipart(MultipartForm)
}
