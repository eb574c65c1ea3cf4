internal import TidegateCore

extension TaskFailure {
    /// True where a path that was lost may have been the cause; others are not anybody's way but the answer, a file or
    /// the request.
    package var mayComeOfLostPath: Bool {
        switch self {
        case .resolveFailed, .connectFailed, .tlsFailed, .timedOut, .stalled, .reset, .protocolError, .truncated: true
        case .tlsPinMismatch, .tooLarge, .httpStatus, .rangeMismatch, .digestMismatch, .bodyChanged, .outcomeUnknown,
            .gateTimeout, .deadlineExceeded, .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull,
            .internal:
            false
        }
    }
}
