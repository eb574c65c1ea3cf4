/// Why a task or an attempt failed: the closed vocabulary of events, JSON (camelCase) and `error_type` (snake_case).
public enum TaskFailure: String, Error, Sendable, MetricLabel, CustomStringConvertible {
    /// The name gave no address.
    case resolveFailed
    /// No connection could be opened.
    case connectFailed
    /// The TLS handshake or the certificate failed.
    case tlsFailed
    /// The server's key is not the pinned one.
    case tlsPinMismatch
    /// Nothing, or not enough, happened in time.
    case timedOut
    /// The transfer stopped moving.
    case stalled
    /// The connection was closed or reset under the transfer.
    case reset
    /// The answer breaks the protocol.
    case protocolError
    /// The body ended before its length.
    case truncated
    /// The body is larger than allowed.
    case tooLarge
    /// The server returned an error status.
    case httpStatus
    /// The server redirects where the policy does not follow.
    case redirectRefused
    /// The server's range is not the one requested, twice.
    case rangeMismatch
    /// The body is complete but not the expected one.
    case digestMismatch
    /// The file to upload changed in the meantime.
    case bodyChanged
    /// The request may have been carried out, and doing it again is not allowed.
    case outcomeUnknown
    /// No path in the time the gate was given.
    case gateTimeout
    /// The deadline passed.
    case deadlineExceeded
    /// Every retry that policy or budget allows was used.
    case retriesExhausted
    /// The user ended it.
    case cancelled
    /// The request cannot be made.
    case invalidRequest
    /// A file could not be read, written or moved.
    case fileError
    /// The disk is full.
    case diskFull
    /// A defect of Tidegate.
    case `internal`

    /// The failure as a clause without a full stop: `could not connect`.
    public var description: String {
        switch self {
        case .resolveFailed: "the name gave no address"
        case .connectFailed: "could not connect"
        case .tlsFailed: "TLS failed"
        case .tlsPinMismatch: "the server's key is not the pinned one"
        case .timedOut: "no answer in time"
        case .stalled: "the transfer stopped moving"
        case .reset: "the connection was reset"
        case .protocolError: "the answer breaks the protocol"
        case .truncated: "the body ended early"
        case .tooLarge: "the body is too large"
        case .httpStatus: "server returned an error status"
        case .redirectRefused: "the server redirects where the policy does not follow"
        case .rangeMismatch: "the server's range is not the one requested"
        case .digestMismatch: "the body is not the expected one"
        case .bodyChanged: "the file to upload changed meanwhile"
        case .outcomeUnknown: "the request may have been carried out, and must not be repeated"
        case .gateTimeout: "timed out waiting for a path"
        case .deadlineExceeded: "the deadline passed"
        case .retriesExhausted: "every retry was used"
        case .cancelled: "cancelled"
        case .invalidRequest: "the request cannot be made"
        case .fileError: "a file could not be read or written"
        case .diskFull: "the disk is full"
        case .internal: "a defect of tidegate"
        }
    }

    /// True if the loss of a path may have been the cause; the others are about the answer, a file or the request.
    package var canFollowFromPathLoss: Bool {
        switch self {
        case .resolveFailed, .connectFailed, .tlsFailed, .timedOut, .stalled, .reset, .protocolError, .truncated: true
        case .tlsPinMismatch, .tooLarge, .httpStatus, .redirectRefused, .rangeMismatch, .digestMismatch, .bodyChanged,
            .outcomeUnknown,
            .gateTimeout, .deadlineExceeded, .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull,
            .internal:
            false
        }
    }
}
