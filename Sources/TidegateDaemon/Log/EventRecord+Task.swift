internal import Logging
internal import TidegateCore

extension EventRecord {
    /// The log record of a task event; nil for events that are not logged.
    init?(_ event: TaskEvent) {
        guard let record = EventRecord.lifecycle(event.kind) ?? EventRecord.transfer(event.kind) else {
            return nil
        }
        self = record
        self.fields["task"] = "\(event.id)"
        self.fields["kind"] = "\(event.taskKind.rawValue)"
    }

    // The task as a whole.
    private static func lifecycle(_ change: TaskEvent.Kind) -> EventRecord? {
        switch change {
        case .created(let method, let url):
            return EventRecord(.debug, "task created", ["method": "\(method)", "url": "\(url)"])
        case .resumed: return EventRecord(.debug, "task resumed")
        // At a shutdown every task is suspended; the next start logs their number.
        case .suspended(let reason):
            return EventRecord(reason == .user ? .info : .debug, "task suspended", ["by": "\(reason.rawValue)"])
        case .held(let reason, let detail):
            var record = EventRecord(self.level(of: reason), "task held", ["reason": "\(reason.rawValue)"])
            record.put("detail", detail)
            return record
        case .released(let reason, let after):
            return EventRecord(
                self.level(of: reason), "task released",
                ["reason": "\(reason.rawValue)", "after": "\(DurationText(after))"])
        case .gate(let result, let waited):
            guard result == .timeout else { return nil }
            return EventRecord(.info, "timed out waiting for a path", ["waited": "\(DurationText(waited))"])
        case .completed(let result): return self.completed(result)
        case .attemptStarted, .responseHead, .progress, .attemptFailed, .attemptSucceeded, .retryScheduled,
            .retriesExhausted, .restarted, .refetched, .moved, .moveFailed:
            return nil
        }
    }

    // Its attempts and bytes.
    private static func transfer(_ change: TaskEvent.Kind) -> EventRecord? {
        switch change {
        case .attemptStarted(let number): return EventRecord(.debug, "attempt started", ["attempt": "\(number)"])
        case .responseHead(let status, _): return EventRecord(.debug, "response started", ["status": "\(status)"])
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            return self.failed(summary, failure, attribution, isCharged: isCharged)
        case .attemptSucceeded(let summary):
            return EventRecord(.debug, "attempt succeeded", ["attempt": "\(summary.number)"])
        case .retryScheduled(let reason, let delay):
            return EventRecord(.info, "retry scheduled", ["reason": "\(reason.label)", "in": "\(DurationText(delay))"])
        case .retriesExhausted(let reason):
            return EventRecord(.info, "retries exhausted", ["reason": "\(reason.rawValue)"])
        case .restarted(let discarded):
            return EventRecord(.info, "download restarted", ["discarded": "\(discarded)"])
        case .refetched(let bytes): return EventRecord(.debug, "bytes refetched", ["bytes": "\(bytes)"])
        case .moved(let file): return EventRecord(.debug, "download committed", ["file": "\(file)"])
        case .moveFailed(let file, let number):
            return EventRecord(
                .warning, "download not committed", ["file": "\(file)", "error": "\(TextFile.errorMessage(number))"])
        case .created, .resumed, .suspended, .held, .released, .gate, .completed, .progress: return nil
        }
    }

    private static func level(of reason: HoldReason) -> Logger.Level {
        switch reason {
        case .path, .constraint, .disk, .circuit, .budget: .info
        case .schedule, .backoff, .concurrency, .drain: .debug
        }
    }

    private static func failed(
        _ summary: AttemptSummary, _ failure: TaskFailure, _ attribution: Attribution?, isCharged: Bool
    ) -> EventRecord {
        guard failure != .cancelled else {
            return EventRecord(.debug, "attempt cancelled", ["attempt": "\(summary.number)"])
        }
        let isLost = !isCharged && attribution?.rung != nil && failure.canFollowFromPathLoss
        var record = EventRecord(
            .info, isLost ? "attempt interrupted by path loss" : "attempt failed",
            ["attempt": "\(summary.number)", "error_type": "\(failure.label)"])
        record.put("status", summary.status)
        record.put("party", attribution?.party.rawValue)
        record.put("evidence", attribution?.evidence.first)
        record.put("remote", summary.remote)
        return record
    }

    private static func completed(_ result: TaskResult) -> EventRecord {
        var record = EventRecord(
            result.outcome == .failure ? .warning : .info, "task completed",
            [
                "outcome": "\(result.outcome.rawValue)", "url": "\(URLRedaction().text(of: result.url))",
                "bytes": "\(result.bytes)", "attempts": "\(result.attempts)",
                "duration": "\(DurationText(result.duration))",
            ])
        record.put("name", result.name)
        record.put("status", result.status)
        record.put("file", result.file)
        record.put("error_type", result.failure?.label)
        record.put("party", result.attribution?.party.rawValue)
        record.put("explanation", result.explanation)
        for (reason, duration) in result.held where duration > .zero {
            record.fields["held_\(reason.label)"] = "\(DurationText(duration))"
        }
        return record
    }
}
