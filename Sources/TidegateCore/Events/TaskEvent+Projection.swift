internal import HTTPTypes

extension TaskEvent.Kind {
    var projection: EventProjection {
        switch self {
        case .created(let method, let url):
            EventProjection(
                "task.created", .debug, "task created", "accepted: \(method) \(URLRedaction().text(of: url))",
                [.both("method", method), .both("url", .url(url))])
        case .resumed: EventProjection("task.resumed", .debug, "task resumed", "resumed")
        // A shutdown suspends every task; the next start logs how many.
        case .suspended(let reason):
            EventProjection(
                "task.suspended", reason == .user ? .info : .debug, "task suspended",
                "suspended by the \(reason.rawValue)",
                [.both("reason", reason.rawValue, log: "by")])
        case .held(let reason, let detail):
            EventProjection(
                "task.held", reason.level, "task held",
                (reason == .circuit ? "" : "waiting: ") + (detail ?? reason.description),
                [.both("reason", .word(reason)), .both("detail", detail)])
        case .released(let reason, let after):
            EventProjection(
                "task.released", reason.level, "task released", "waited \(after.shortText): \(reason)",
                [.both("reason", .word(reason)), .both("afterSeconds", after, log: "after")])
        case .gate(let result, let waited):
            EventProjection(
                "task.gate", result == .timeout ? .info : .trace,
                result == .timeout ? "timed out waiting for a path" : "gate passed", result.sentence(after: waited),
                [.json("result", result.rawValue), .both("waitedSeconds", waited, log: "waited")])
        case .completed(let result): Self.projection(of: result)
        case .retryScheduled(let reason, let delay):
            EventProjection(
                "task.retryScheduled", .info, "retry scheduled", "retry in \(delay.shortText)",
                [.both("reason", reason.label), .both("delaySeconds", delay, log: "in")])
        case .retriesExhausted(let reason):
            EventProjection(
                "task.retriesExhausted", .info, "retries exhausted", "no further retry: \(reason)",
                [.both("reason", .word(reason))])
        case .attemptStarted, .responseHead, .progress, .attemptFailed, .attemptSucceeded, .continued, .restarted,
            .refetched, .moved, .moveFailed:
            self.transferProjection
        }
    }

    // Events of attempts, bytes and files.
    private var transferProjection: EventProjection {
        switch self {
        case .attemptStarted(let number):
            EventProjection(
                "task.attemptStarted", .debug, "attempt started", "attempt \(number) started",
                [.both("attempt", number)])
        case .responseHead(let status, let expected):
            EventProjection(
                "task.responseHead", .debug, "response started", "the server answered with status \(status)",
                [.both("status", status), .json("expectedBytes", expected)])
        case .progress(let progress, delta: _):
            EventProjection("task.progress", .trace, "progress", progress.description, progress.fields)
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            self.failed(summary, failure, attribution, isCharged: isCharged)
        case .attemptSucceeded(let summary):
            EventProjection(
                "task.attemptSucceeded", .debug, "attempt succeeded", "attempt \(summary.tryNumber) succeeded",
                [
                    .both("attempt", summary.number), .json("try", summary.tryNumber), .json("status", summary.status),
                    .json("tls", summary.tls?.json),
                ] + summary.spanField)
        case .continued(let offset, let total):
            EventProjection(
                "task.continued", .info, "download continued",
                "continuing after \(ByteText(offset))" + (total.map { " of \(ByteText($0))" } ?? ""),
                [.both("offsetBytes", offset, log: "offset"), .both("expectedBytes", total, log: "expected")])
        case .restarted(let discarded):
            EventProjection(
                "task.restarted", .info, "download restarted",
                "restarting: \(ByteText(discarded)) could not be resumed",
                [.both("discardedBytes", discarded, log: "discarded")])
        case .refetched(let bytes):
            EventProjection(
                "task.refetched", .debug, "bytes refetched", "\(ByteText(bytes)) were received again",
                [.both("bytes", bytes)])
        case .moved(let file):
            EventProjection(
                "task.moved", .debug, "download committed", "download committed: \(file)", [.both("file", file)])
        case .moveFailed(let file, let number):
            EventProjection(
                "task.moveFailed", .warning, "download not committed", "download not committed: \(file)",
                [.both("file", file), .both("errorNumber", .systemError(number), log: "error")])
        case .created, .resumed, .suspended, .held, .released, .gate, .completed, .retryScheduled, .retriesExhausted:
            self.projection
        }
    }

    private static func projection(of result: TaskResult) -> EventProjection {
        let held: [EventProjection.Field] = HoldReason.allCases.compactMap { reason in
            result.held[reason].flatMap { $0 > .zero ? .log("held_\(reason.label)", $0) : nil }
        }
        return EventProjection(
            "task.completed", result.outcome == .failure ? .warning : .info, "task completed",
            result.sentence,
            [
                .both("outcome", result.outcome.rawValue), .both("status", result.status), .both("file", result.file),
                .both("bytes", result.bytes), .json("sentBytes", result.sentBytes),
                .json("reason", result.failure?.rawValue), .log("error_type", result.failure?.label),
                .both("party", .word(result.attribution?.party)), .both("explanation", result.explanation),
                .both("name", result.name), .json("method", result.method), .both("url", .url(result.url)),
                .both("durationSeconds", result.duration, log: "duration"), .log("attempts", result.attempts),
            ] + held)
    }

    private func failed(
        _ summary: AttemptSummary, _ failure: TaskFailure, _ attribution: Attribution?, isCharged: Bool
    ) -> EventProjection {
        let isLost = TaskEvent.isPathLoss(failure, attribution, isCharged: isCharged)
        let isCancelled = failure == .cancelled
        return EventProjection(
            "task.attemptFailed", isCancelled ? .debug : .info,
            isCancelled ? "attempt cancelled" : isLost ? "attempt interrupted by path loss" : "attempt failed",
            isLost
                ? "the path was lost"
                : "attempt \(summary.tryNumber) failed: \(failure.clause(status: summary.status, attribution))",
            [
                .both("attempt", summary.number), .json("try", summary.tryNumber), .both("status", summary.status),
                .json("reason", failure.rawValue), .log("error_type", failure.label),
                .both("party", .word(attribution?.party)), .json("charged", isCharged),
                .json("tls", summary.tls?.json), .log("evidence", attribution?.evidence.first),
                .log("remote", summary.remote?.description),
            ] + summary.spanField)
    }

    /// What happened to the task, as a clause that does not name it: `attempt 2 failed: could not connect`.
    package var sentence: String { self.projection.sentence }

    var relevance: Event.Relevance {
        switch self {
        case .progress: .metrics
        case .created, .resumed, .suspended, .held, .released, .gate, .attemptStarted, .responseHead,
            .attemptSucceeded, .retryScheduled, .retriesExhausted, .continued, .refetched, .moved:
            .history
        case .attemptFailed, .completed, .restarted, .moveFailed: .page
        }
    }

}

extension TaskEvent.GateResult {
    fileprivate func sentence(after waited: Duration) -> String {
        switch self {
        case .timeout: "timed out waiting for a path after \(waited.shortText)"
        case .cancelled: "ended while it waited for a path"
        case .immediate, .delayed: "there is a path"
        }
    }
}

extension TaskResult {
    fileprivate var sentence: String {
        switch self.outcome {
        case .success: "done: \(self.volume) in \(self.duration.shortText)"
        case .failure: self.statusText ?? "failed: \(self.explanation ?? self.failure?.description ?? "not known")"
        case .cancelled: "cancelled"
        }
    }

    private static let phrases: [HTTPResponse.Status] = [
        .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .requestTimeout, .conflict, .gone,
        .contentTooLarge, .tooManyRequests, .internalServerError, .notImplemented, .badGateway, .serviceUnavailable,
        .gatewayTimeout,
    ]

    /// The status that is the failure, and its party: `404 Not Found: check the URL`, `403 Forbidden (this host)`; nil
    /// if something else is.
    package var statusText: String? {
        guard self.failure == .httpStatus, let status = self.status, (400..<600).contains(status) else { return nil }
        let phrase = Self.phrases.first { $0.code == status }?.reasonPhrase ?? ""
        return "\(status)" + (phrase.isEmpty ? "" : " \(phrase)")
            + ([404, 410].contains(status) ? ": check the URL" : self.attribution.map { " (\($0.party))" } ?? "")
    }
}

extension AttemptSummary {
    // Only attempts of traced tasks have one.
    fileprivate var spanField: [EventProjection.Field] {
        self.span.map { [.both("span", $0.description)] } ?? []
    }
}

extension HoldReason {
    fileprivate var level: Event.Level {
        switch self {
        case .path, .constraint, .disk, .descriptors, .circuit, .budget: .info
        case .schedule, .backoff, .concurrency, .drain: .debug
        }
    }
}

extension TransferProgress {
    fileprivate var fields: [EventProjection.Field] {
        [
            .json("attempt", self.attempt),
            .json("bytes", self.offset + self.receivedWire), .json("expectedBytes", self.expected),
            .json("sentBytes", self.sent), .json("fraction", self.fraction),
            .json("expectedSentBytes", self.expectedSent),
            .json("sentFraction", self.fractionSent), .json("sending", self.isSending),
        ]
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
