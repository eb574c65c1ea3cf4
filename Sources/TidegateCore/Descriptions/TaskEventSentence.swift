extension TaskEvent.Kind {
    /// What happened to the task, as a clause that does not name it: `attempt 2 failed: could not connect`.
    package var sentence: String {
        switch self {
        case .created(let method, let url): "accepted: \(method) \(url)"
        case .resumed: "resumed"
        case .suspended(let reason): "suspended by the \(reason.rawValue)"
        case .held(let reason, let detail): "waiting: \(detail ?? reason.description)"
        case .released(let reason, let after): "waited \(DurationText(after)): \(reason)"
        case .gate(.timeout, let waited): "timed out waiting for a path after \(DurationText(waited))"
        case .gate(.cancelled, waited: _): "ended while it waited for a path"
        case .gate(.immediate, waited: _), .gate(.delayed, waited: _): "there is a path"
        case .attemptStarted(let number): "attempt \(number) started"
        case .responseHead(let status, expectedBytes: _): "the server answered with status \(status)"
        case .progress(let progress, delta: _): progress.description
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            TaskEvent.isPathLoss(failure, attribution, isCharged: isCharged)
                ? "the path was lost"
                : "attempt \(summary.tryNumber) failed: \(failure.clause(status: summary.status, attribution))"
        case .attemptSucceeded(let summary): "attempt \(summary.tryNumber) succeeded"
        case .retryScheduled(_, let delay): "retry in \(DurationText(delay))"
        case .retriesExhausted(let reason): "no further retry: \(reason)"
        case .continued(let offset, let total):
            "continuing after \(ByteText(offset))" + (total.map { " of \(ByteText($0))" } ?? "")
        case .restarted(let discarded): "restarting: \(ByteText(discarded)) could not be resumed"
        case .refetched(let bytes): "\(ByteText(bytes)) were received again"
        case .moved(let file): "\(Self.committed): \(file)"
        case .moveFailed(let file, errorNumber: _): "\(Self.notCommitted): \(file)"
        case .completed(let result): Self.sentence(of: result)
        }
    }

    static let committed = "download committed"
    static let notCommitted = "download not committed"

    private static func sentence(of result: TaskResult) -> String {
        switch result.outcome {
        case .success: "done: \(result.volume) in \(DurationText(result.duration))"
        case .failure: "failed: \(result.explanation ?? result.failure?.description ?? "not known")"
        case .cancelled: "cancelled"
        }
    }
}

extension TaskFailure {
    /// Why an attempt failed: its first evidence if a rung of the ladder failed, or else the failure and the status.
    package func clause(status: Int?, _ attribution: Attribution?) -> String {
        if let attribution, attribution.rung != nil, let evidence = attribution.evidence.first { return evidence }
        guard self == .httpStatus, let status else { return self.description }
        return "\(self) (\(status))"
    }
}

extension TransferProgress: CustomStringConvertible {
    /// What has come of the body that moves now: `1.5 KiB of 5.0 GiB`, and of a request's `1.5 KiB of 5.0 GiB sent`.
    public var description: String { self.current.description }
}

extension BodyProgress: CustomStringConvertible {
    package var description: String {
        let bytes = self.total.map { "\(ByteText(self.bytes)) of \(ByteText($0))" } ?? ByteText(self.bytes).description
        return self.isSent ? "\(bytes) sent" : bytes
    }
}

extension TaskEvent.ExhaustionReason: CustomStringConvertible {
    /// The reason as a clause: `the retry budget is empty`.
    public var description: String {
        switch self {
        case .limit: "the limit of retries is reached"
        case .budget: "the retry budget is empty"
        case .deadline: "the deadline leaves no time for one"
        case .notIdempotent: "the request may have been carried out, and must not be repeated"
        }
    }
}
