internal import NIOHTTP2

/// How a call ended: one of gRPC's codes, or a number that it does not know.
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

    /// A status by its number.
    init(code: Int) { self.code = code }

    /// The status of the field `grpc-status`: what is no number stands for an unknown one.
    init(field: String) { self.code = UInt32(field).map(Int.init) ?? Self.unknown.code }

    /// The status of an answer over HTTP that has none of its own (gRPC's http-grpc-status-mapping).
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
