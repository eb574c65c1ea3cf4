internal import HTTPTypes

extension TaskEvent.Kind {
    var projection: EventProjection {
        switch self {
        case .created(let method, let url):
            EventProjection("task.created", .debug, "task created", [.both("method", method), .both("url", .url(url))])
        case .resumed: EventProjection("task.resumed", .debug, "task resumed")
        // A shutdown suspends every task; the next start logs how many they were.
        case .suspended(let reason):
            EventProjection(
                "task.suspended", reason == .user ? .info : .debug, "task suspended",
                [.both("reason", reason.rawValue, log: "by")])
        case .held(let reason, let detail):
            EventProjection(
                "task.held", reason.level, "task held", [.both("reason", .word(reason)), .both("detail", detail)])
        case .released(let reason, let after):
            EventProjection(
                "task.released", reason.level, "task released",
                [.both("reason", .word(reason)), .both("afterSeconds", after, log: "after")])
        case .gate(let result, let waited):
            EventProjection(
                "task.gate", result == .timeout ? .info : .trace,
                result == .timeout ? "timed out waiting for a path" : "gate passed",
                [.json("result", result.rawValue), .both("waitedSeconds", waited, log: "waited")])
        case .completed(let result): Self.projection(of: result)
        case .retryScheduled(let reason, let delay):
            EventProjection(
                "task.retryScheduled", .info, "retry scheduled",
                [.both("reason", reason.label), .both("delaySeconds", delay, log: "in")])
        case .retriesExhausted(let reason):
            EventProjection("task.retriesExhausted", .info, "retries exhausted", [.both("reason", .word(reason))])
        case .attemptStarted, .responseHead, .progress, .attemptFailed, .attemptSucceeded, .continued, .restarted,
            .refetched, .moved, .moveFailed:
            self.transferProjection
        }
    }

    // What happens to attempts, bytes and files.
    private var transferProjection: EventProjection {
        switch self {
        case .attemptStarted(let number):
            EventProjection("task.attemptStarted", .debug, "attempt started", [.both("attempt", number)])
        case .responseHead(let status, let expected):
            EventProjection(
                "task.responseHead", .debug, "response started",
                [.both("status", status), .json("expectedBytes", expected)])
        case .progress(let progress, delta: _):
            EventProjection("task.progress", .trace, "progress", progress.fields)
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            self.failed(summary, failure, attribution, isCharged: isCharged)
        case .attemptSucceeded(let summary):
            EventProjection(
                "task.attemptSucceeded", .debug, "attempt succeeded",
                [
                    .both("attempt", summary.number), .json("try", summary.tryNumber), .json("status", summary.status),
                    .json("tls", summary.tls?.json),
                ] + summary.spanField)
        case .continued(let offset, let total):
            EventProjection(
                "task.continued", .info, "download continued",
                [.both("offsetBytes", offset, log: "offset"), .both("expectedBytes", total, log: "expected")])
        case .restarted(let discarded):
            EventProjection(
                "task.restarted", .info, "download restarted", [.both("discardedBytes", discarded, log: "discarded")])
        case .refetched(let bytes):
            EventProjection("task.refetched", .debug, "bytes refetched", [.both("bytes", bytes)])
        case .moved(let file): EventProjection("task.moved", .debug, Self.committed, [.both("file", file)])
        case .moveFailed(let file, let number):
            EventProjection(
                "task.moveFailed", .warning, Self.notCommitted,
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
            [
                .both("attempt", summary.number), .json("try", summary.tryNumber), .both("status", summary.status),
                .json("reason", failure.rawValue), .log("error_type", failure.label),
                .both("party", .word(attribution?.party)), .json("charged", isCharged),
                .json("tls", summary.tls?.json), .log("evidence", attribution?.evidence.first),
                .log("remote", summary.remote?.description),
            ] + summary.spanField)
    }

    /// What happened to the task, as a clause that does not name it: `attempt 2 failed: could not connect`.
    package var sentence: String {
        switch self {
        case .created(let method, let url): "accepted: \(method) \(url)"
        case .resumed: "resumed"
        case .suspended(let reason): "suspended by the \(reason.rawValue)"
        case .held(.circuit, let detail): detail ?? HoldReason.circuit.description
        case .held(let reason, let detail): "waiting: \(detail ?? reason.description)"
        case .released(let reason, let after): "waited \(after.shortText): \(reason)"
        case .gate(.timeout, let waited): "timed out waiting for a path after \(waited.shortText)"
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
        case .retryScheduled(_, let delay): "retry in \(delay.shortText)"
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
        case .success: "done: \(result.volume) in \(result.duration.shortText)"
        case .failure:
            result.statusText ?? "failed: \(result.explanation ?? result.failure?.description ?? "not known")"
        case .cancelled: "cancelled"
        }
    }
}

extension TaskResult {
    private static let phrases: [HTTPResponse.Status] = [
        .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .requestTimeout, .conflict, .gone,
        .contentTooLarge, .tooManyRequests, .internalServerError, .notImplemented, .badGateway, .serviceUnavailable,
        .gatewayTimeout,
    ]

    /// The status that is the failure, and whose: `404 Not Found: check the URL`, `403 Forbidden (this host)`; nil if something else is.
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
