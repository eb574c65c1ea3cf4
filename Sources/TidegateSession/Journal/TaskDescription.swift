public import TidegateCore
internal import FoundationEssentials
public import HTTPTypes

/// A submitted request in a form that survives its process.
///
/// Everything that a ``TaskRequest`` has and that means the same to another process.
public struct TaskDescription: Sendable, Hashable, Codable {
    /// The URL as it was given.
    public var url: String
    /// The request method.
    public var method: String
    /// The header fields.
    public var headers: [HTTPField]
    /// The request's body.
    public var body: Body
    /// Where the response's body goes.
    public var destination: Place
    /// The caller's own name for the task; nil if duplicates do not matter.
    public var key: String?
    /// A name to be known by in lists.
    public var name: String?
    var connectTimeout: Duration
    var idleTimeout: Duration
    var attemptTimeout: Duration?
    /// How long the task may take in all, waiting included; nil is without end.
    public var deadline: Duration?
    var gate: Gate?
    var retry: Retry?
    /// Higher goes first if not all can go.
    public var priority: Int
    var usesHTTP2: Bool
    var acceptsCompression: Bool
    var user: String?
    var password: String?
    var bytesPerSecondLimit: Int?
    var maxRedirects: Int
    var isMarkedIdempotent: Bool
    /// When it is too late, in microseconds since 1970; nil is never.
    var expires: Int64?
    /// What the body's SHA-256 has to be, in hexadecimal digits.
    var sha256: String?
    /// Where an earlier download ended.
    var resuming: ResumeData?
    var trust: Trust?

    /// A request's body.
    public enum Body: Sendable, Hashable, Codable {
        /// None.
        case none
        /// Bytes, kept in the journal itself.
        case data(Bytes)
        /// A file, as it was when the task was accepted.
        case file(String, FileIdentity)
    }

    /// Where a response's body goes.
    public enum Place: Sendable, Hashable, Codable {
        /// Into memory: gone with the process, and then fetched again.
        case memory(limit: Int)
        /// Into a file.
        case file(String, permissions: UInt16?)
        /// Nowhere.
        case discard
    }

    /// Bytes that encode as base64.
    public struct Bytes: Sendable, Hashable, Codable {
        /// The bytes.
        public var bytes: [UInt8]

        /// Some bytes.
        public init(_ bytes: [UInt8]) { self.bytes = bytes }

        /// Reads base64.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let data = Data(base64Encoded: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64")
            }
            self.bytes = [UInt8](data)
        }

        /// Writes base64.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(Data(self.bytes).base64EncodedString())
        }
    }

    struct Gate: Sendable, Hashable, Codable {
        var require: [String]
        var patience: Duration?
    }

    struct Retry: Sendable, Hashable, Codable {
        var attempts: Int
        var base: Duration
        var cap: Duration
        var maxElapsed: Duration?
        var statuses: [Int]
    }

    struct Trust: Sendable, Hashable, Codable {
        var caFile: String?
        var pins: [String: [String]]
        var isInsecure: Bool
    }
}
