extension TaskEvent {
    var projection: EventProjection {
        var projection = self.kind.lifecycle ?? self.kind.wire ?? EventProjection("task.progress", .trace, "progress")
        projection.fields.insert(
            contentsOf: [.both("task", .text(self.id.description)), .both("kind", .text(self.taskKind.rawValue))], at: 0
        )
        if let trace = self.trace { projection.fields.append(.both("trace", .text(trace.description))) }
        return projection
    }
}

extension TaskEvent.Kind {
    /// What happens to the task as a whole; nil for what happens on the wire.
    fileprivate var lifecycle: EventProjection? {
        switch self {
        case .created(let method, let url):
            EventProjection(
                "task.created", .debug, "task created", [.both("method", .text(method)), .both("url", .url(url))])
        case .resumed: EventProjection("task.resumed", .debug, "task resumed")
        // A shutdown suspends every task; the next start logs how many they were.
        case .suspended(let reason):
            EventProjection(
                "task.suspended", reason == .user ? .info : .debug, "task suspended",
                [.both("reason", .text(reason.rawValue), log: "by")])
        case .held(let reason, let detail):
            EventProjection(
                "task.held", reason.level, "task held",
                [.both("reason", .word(reason.rawValue, reason.description)), .both("detail", .text(detail))])
        case .released(let reason, let after):
            EventProjection(
                "task.released", reason.level, "task released",
                [
                    .both("reason", .word(reason.rawValue, reason.description)),
                    .both("afterSeconds", .duration(after), log: "after"),
                ])
        case .gate(let result, let waited):
            EventProjection(
                "task.gate", result == .timeout ? .info : .trace,
                result == .timeout ? "timed out waiting for a path" : "gate passed",
                [.json("result", .text(result.rawValue)), .both("waitedSeconds", .duration(waited), log: "waited")])
        case .completed(let result): Self.projection(of: result)
        case .attemptStarted, .responseHead, .progress, .attemptFailed, .attemptSucceeded, .retryScheduled,
            .retriesExhausted, .continued, .restarted, .refetched, .moved, .moveFailed:
            nil
        }
    }

    /// What happens to its attempts and bytes; nil for the rest.
    fileprivate var wire: EventProjection? {
        switch self {
        case .attemptStarted(let number):
            EventProjection(
                "task.attemptStarted", .debug, "attempt started", [.both("attempt", .integer(Int64(number)))])
        case .responseHead(let status, let expected):
            EventProjection(
                "task.responseHead", .debug, "response started",
                [.both("status", .integer(Int64(status))), .json("expectedBytes", .integer(expected))])
        case .progress(let progress, delta: _):
            EventProjection("task.progress", .trace, "progress", progress.fields)
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            self.failed(summary, failure, attribution, isCharged: isCharged)
        case .attemptSucceeded(let summary):
            EventProjection(
                "task.attemptSucceeded", .debug, "attempt succeeded",
                [
                    .both("attempt", .integer(Int64(summary.number))),
                    .json("try", .integer(Int64(summary.tryNumber))),
                    .json("status", .integer(summary.status.map(Int64.init))),
                    .json("tls", .json(summary.tls?.json ?? .null)),
                ] + summary.spanField)
        case .retryScheduled(let reason, let delay):
            EventProjection(
                "task.retryScheduled", .info, "retry scheduled",
                [.both("reason", .text(reason.label)), .both("delaySeconds", .duration(delay), log: "in")])
        case .retriesExhausted(let reason):
            EventProjection(
                "task.retriesExhausted", .info, "retries exhausted",
                [.both("reason", .word(reason.rawValue, reason.description))])
        case .continued, .restarted, .refetched, .moved, .moveFailed: self.file
        case .created, .resumed, .suspended, .held, .released, .gate, .completed: nil
        }
    }

    /// What happens to the file of a download; nil for the rest.
    private var file: EventProjection? {
        switch self {
        case .continued(let offset, let total):
            EventProjection(
                "task.continued", .info, "download continued",
                [
                    .both("offsetBytes", .integer(offset), log: "offset"),
                    .both("expectedBytes", .integer(total), log: "expected"),
                ])
        case .restarted(let discarded):
            EventProjection(
                "task.restarted", .info, "download restarted",
                [.both("discardedBytes", .integer(discarded), log: "discarded")])
        case .refetched(let bytes):
            EventProjection("task.refetched", .debug, "bytes refetched", [.both("bytes", .integer(bytes))])
        case .moved(let file): EventProjection("task.moved", .debug, Self.committed, [.both("file", .text(file))])
        case .moveFailed(let file, let number):
            EventProjection(
                "task.moveFailed", .warning, Self.notCommitted,
                [.both("file", .text(file)), .both("errorNumber", .systemError(number), log: "error")])
        case .created, .resumed, .suspended, .held, .released, .gate, .completed, .attemptStarted, .responseHead,
            .progress, .attemptFailed, .attemptSucceeded, .retryScheduled, .retriesExhausted:
            nil
        }
    }

    private static func projection(of result: TaskResult) -> EventProjection {
        let held: [EventProjection.Field] = HoldReason.allCases.compactMap { reason in
            result.held[reason].flatMap { $0 > .zero ? .log("held_\(reason.label)", .duration($0)) : nil }
        }
        return EventProjection(
            "task.completed", result.outcome == .failure ? .warning : .info, "task completed",
            [
                .both("outcome", .text(result.outcome.rawValue)),
                .both("status", .integer(result.status.map(Int64.init))),
                .both("file", .text(result.file)), .both("bytes", .integer(result.bytes)),
                .json("sentBytes", .integer(result.sentBytes)),
                .json("reason", .text(result.failure?.rawValue)), .log("error_type", .text(result.failure?.label)),
                .both("party", .word(result.attribution?.party.rawValue, result.attribution?.party.description)),
                .both("explanation", .text(result.explanation)),
                .both("name", .text(result.name)), .json("method", .text(result.method)),
                .both("url", .url(result.url)),
                .both("durationSeconds", .duration(result.duration), log: "duration"),
                .log("attempts", .integer(Int64(result.attempts))),
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
                .both("attempt", .integer(Int64(summary.number))), .json("try", .integer(Int64(summary.tryNumber))),
                .both("status", .integer(summary.status.map(Int64.init))),
                .json("reason", .text(failure.rawValue)), .log("error_type", .text(failure.label)),
                .both("party", .word(attribution?.party.rawValue, attribution?.party.description)),
                .json("charged", .flag(isCharged)), .json("tls", .json(summary.tls?.json ?? .null)),
                .log("evidence", .text(attribution?.evidence.first)),
                .log("remote", .text(summary.remote?.description)),
            ] + summary.spanField)
    }
}

extension AttemptSummary {
    // Only attempts of traced tasks have one.
    fileprivate var spanField: [EventProjection.Field] {
        self.span.map { [.both("span", .text($0.description))] } ?? []
    }
}

extension TaskEvent {
    /// True if a failed attempt was ended by the loss of its path and by nothing else.
    package static func isPathLoss(_ failure: TaskFailure, _ attribution: Attribution?, isCharged: Bool) -> Bool {
        // A failure of this host's own, a full disk for one, has no rung.
        !isCharged && attribution?.rung != nil && failure.canFollowFromPathLoss
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
            .json("attempt", .integer(Int64(self.attempt))),
            .json("bytes", .integer(self.offset + self.receivedWire)), .json("expectedBytes", .integer(self.expected)),
            .json("sentBytes", .integer(self.sent)), .json("fraction", .number(self.fraction)),
            .json("expectedSentBytes", .integer(self.expectedSent)),
            .json("sentFraction", .number(self.fractionSent)), .json("sending", .flag(self.isSending)),
        ]
    }
}
