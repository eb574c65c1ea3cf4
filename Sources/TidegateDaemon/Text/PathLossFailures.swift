internal import TidegateCore

extension TaskFailure {
    /// True if a lost path may be the cause; false for failures of the response, a file or the request itself.
    package var canFollowFromPathLoss: Bool {
        switch self {
        case .resolveFailed, .connectFailed, .tlsFailed, .timedOut, .stalled, .reset, .protocolError, .truncated: true
        case .tlsPinMismatch, .tooLarge, .httpStatus, .rangeMismatch, .digestMismatch, .bodyChanged, .outcomeUnknown,
            .gateTimeout, .deadlineExceeded, .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull,
            .internal:
            false
        }
    }
}
