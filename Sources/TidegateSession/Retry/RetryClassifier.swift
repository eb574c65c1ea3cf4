internal import TidegateTransfer
internal import TidegateCore

/// Decides whether a failed attempt may be retried at all, and at what cost.
///
/// Limits, budget and delays are applied later.
enum RetryClassifier {
    /// The facts about the attempt.
    struct Evidence: Sendable, Hashable {
        var kind: FailureClass
        var failure: TaskFailure
        var status: Int?
        var resolveFailure: ResolveFailure?
        /// Whether the server may have processed the request.
        var reachedWire: Bool
        var isIdempotent: Bool
        /// Whether the verdict has no path, or another one than when the attempt began.
        var pathIsLost: Bool
    }

    enum Decision: Sendable, Hashable {
        /// Only the path is at fault: no charge and no delay; the gate decides.
        case free
        case retry(price: RetryPrice, atMost: Int?)
        case final(TaskFailure)
        /// It could be retried if repeating it were allowed.
        case forbidden(TaskFailure)
    }

    static func classify(_ evidence: Evidence, statuses: Set<Int>) -> Decision {
        switch evidence.kind {
        case .client, .local, .tls: return .final(evidence.failure)
        case .status: return self.classify(status: evidence.status, evidence, statuses)
        case _ where evidence.pathIsLost: return self.mayRepeat(evidence) ? .free : .forbidden(.outcomeUnknown)
        case .link: return .retry(price: .free, atMost: nil)
        case .dns: return .retry(price: .free, atMost: evidence.resolveFailure == .nameNotFound ? 2 : nil)
        case .connect: return .retry(price: .connect, atMost: nil)
        case .tlsCutOff: return .retry(price: .full, atMost: 3)
        case .timeout, .transport:
            guard self.mayRepeat(evidence) else { return .forbidden(.outcomeUnknown) }
            return .retry(price: evidence.reachedWire ? .full : .connect, atMost: nil)
        }
    }

    // 408, 425 and 429 mean that the request was not executed.
    private static func classify(status: Int?, _ evidence: Evidence, _ statuses: Set<Int>) -> Decision {
        guard let status, statuses.contains(status) else { return .final(evidence.failure) }
        if [408, 425, 429].contains(status) { return .retry(price: .connect, atMost: nil) }
        return evidence.isIdempotent ? .retry(price: .full, atMost: nil) : .forbidden(evidence.failure)
    }

    private static func mayRepeat(_ evidence: Evidence) -> Bool { evidence.isIdempotent || !evidence.reachedWire }
}
