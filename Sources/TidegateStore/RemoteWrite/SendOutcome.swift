internal import TidegateCore

/// The result of sending a batch.
enum SendOutcome: Sendable, Hashable {
    /// The receiver has it.
    case delivered
    /// The receiver will never take it (remote write 1.0: 4xx, except 429).
    case refused(status: Int)
    /// It is sent again later; what failed.
    case failed(RemoteWriteFailure)
    /// The session has ended.
    case cancelled

    init(_ result: TaskResult) {
        switch result.outcome {
        case .success: self = .delivered
        case .cancelled: self = .cancelled
        case .failure:
            let failure = RemoteWriteFailure(
                result.failure ?? .internal, status: result.status, party: result.attribution?.party,
                explanation: result.explanation)
            if result.failure == .httpStatus, let status = result.status, SendOutcome.isRefusal(status) {
                self = .refused(status: status)
            } else {
                self = .failed(failure)
            }
        }
    }

    /// True for a status after which the same samples must not be sent again.
    static func isRefusal(_ status: Int) -> Bool { (400...499).contains(status) && status != 429 }
}
