/// Why a task or an attempt failed: the closed vocabulary of events, JSON (camelCase) and `error_type` (snake_case).
public enum TaskFailure: String, Error, Sendable, MetricLabel {
    /// The name gave no address.
    case resolveFailed
    /// No connection came about.
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
    /// The status says no.
    case httpStatus
    /// The server's range is not the one asked for, twice.
    case rangeMismatch
    /// The body is whole but not the expected one.
    case digestMismatch
    /// The file to upload changed meanwhile.
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
    /// A defect of ours.
    case `internal`
}
