internal import NIOHTTP2
internal import TidegateCore

/// Why a call returned no health: the server's status, or the error in its response.
enum GRPCError: Error {
    /// The server's own status, with its message.
    case status(GRPCStatus, message: String)
    /// An HTTP response with this status that is not a gRPC response.
    case http(Int)
    /// The server reset the call.
    case reset(HTTP2ErrorCode)
    /// The server does not answer further calls on this connection.
    case goAway(HTTP2ErrorCode)
    /// The connection ended before the response.
    case closed
    /// The response violates the protocol; a clause that follows "the server's answer".
    case malformed(String)
    case tooLarge
    /// The server did not select HTTP/2 in the TLS handshake.
    case noAgreement
    /// The server's side of the connection is not valid HTTP/2.
    case notHTTP2

    /// The call's status.
    var status: GRPCStatus {
        switch self {
        case .status(let status, _): status
        case .http(let status): GRPCStatus(http: status)
        case .reset(let code): GRPCStatus(reset: code)
        case .goAway, .closed, .noAgreement, .notHTTP2: .unavailable
        case .malformed: .internal
        case .tooLarge: .resourceExhausted
        }
    }

    /// Why the probe fails.
    var reason: ProbeFailureReason {
        switch self {
        case .status, .reset, .goAway: .status
        // A successful HTTP response was meant for another protocol.
        case .http(let status): status == 200 ? .protocolError : .status
        case .closed: .reset
        case .malformed, .noAgreement, .notHTTP2: .protocolError
        case .tooLarge: .tooLarge
        }
    }

    /// The responsible party.
    ///
    /// A module's call does not change, so a failure means that the server has changed, unless it requires credentials.
    var party: FaultParty { self.status == .unauthenticated ? .mine : .theirs }

    /// What went wrong, in one clause.
    var text: String {
        switch self {
        case .status(let status, let message):
            "the server answered \(status)" + (message.isEmpty ? "" : ": \(message)")
        case .http(let status): "the server answered HTTP \(status) without a gRPC status"
        case .reset(let code): "the server reset the call: \(code.label) (\(self.status))"
        case .goAway(let code): "the server ended the connection before its answer: \(code.label)"
        case .closed: "the server closed the connection before its answer"
        case .malformed(let problem): "the server's answer \(problem)"
        case .tooLarge: "the server's answer has more than 64 KiB"
        case .noAgreement: "the server did not choose HTTP/2 in the TLS handshake (ALPN)"
        case .notHTTP2: "the server does not speak HTTP/2 as it should"
        }
    }
}

extension HTTP2ErrorCode {
    /// The name from RFC 9113 7, or the number.
    fileprivate var label: String {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
            "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
        ]
        return names.indices.contains(self.networkCode) ? names[self.networkCode] : "error \(self.networkCode)"
    }
}

/// The status of a call: one of gRPC's codes, or an unknown number.
struct GRPCStatus: Sendable, Hashable, CustomStringConvertible {
    let code: Int

    static let ok = GRPCStatus(code: 0)
    static let cancelled = GRPCStatus(code: 1)
    static let unknown = GRPCStatus(code: 2)
    static let deadlineExceeded = GRPCStatus(code: 4)
    static let permissionDenied = GRPCStatus(code: 7)
    static let resourceExhausted = GRPCStatus(code: 8)
    static let unimplemented = GRPCStatus(code: 12)
    static let `internal` = GRPCStatus(code: 13)
    static let unavailable = GRPCStatus(code: 14)
    static let unauthenticated = GRPCStatus(code: 16)

    private static let names = [
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
        "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
        "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
    ]

    var description: String { Self.names.indices.contains(self.code) ? Self.names[self.code] : "\(self.code)" }

    /// The status with a code.
    init(code: Int) { self.code = code }

    /// The status in the field `grpc-status`; a value that is not a number means unknown.
    init(field: String) { self.code = UInt32(field).map(Int.init) ?? Self.unknown.code }

    /// The status of an HTTP response without a gRPC status (gRPC's http-grpc-status-mapping).
    init(http status: Int) {
        self =
            switch status {
            case 400: .internal
            case 401: .unauthenticated
            case 403: .permissionDenied
            case 404: .unimplemented
            case 429, 502, 503, 504: .unavailable
            default: .unknown
            }
    }

    /// The status of a call that the server reset (gRPC over HTTP/2, "Errors").
    init(reset code: HTTP2ErrorCode) {
        self =
            switch code {
            case .refusedStream: .unavailable
            case .cancel: .cancelled
            case .enhanceYourCalm: .resourceExhausted
            case .inadequateSecurity: .permissionDenied
            case _ where code.networkCode <= 0xD: .internal
            default: .unknown
            }
    }
}
