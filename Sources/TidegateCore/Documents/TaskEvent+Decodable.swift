extension TaskEvent: Decodable {
    fileprivate enum Key: String, CodingKey {
        case event, task, kind, method, url, reason, detail, afterSeconds, result, waitedSeconds, attempt, status
        case expectedBytes, bytes, sentBytes, party, charged, delaySeconds, discardedBytes, offsetBytes
        case file, errorNumber, outcome, explanation, name, durationSeconds, expectedSentBytes, trace, span
        case tryNumber = "try"
    }

    /// A task's event from the object that JSON shows of it; what JSON leaves out is empty, zero or nil.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let id = try container.value(.task, TaskID.init)
        let taskKind = try container.value(.kind, TaskKind.init(rawValue:))
        let event = try container.decode(String.self, forKey: .event)
        guard
            let kind = try container.lifecycle(event) ?? container.wire(event) ?? container.result(event, id, taskKind)
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .event, in: container, debugDescription: "\"\(event)\" is not an event of a task")
        }
        let trace = try container.optional(.trace, TraceID.init)
        self.init(id: id, taskKind: taskKind, trace: trace, kind: kind)
    }
}

extension KeyedDecodingContainer<TaskEvent.Key> {
    /// What happens to the task as a whole; nil for other events.
    fileprivate func lifecycle(_ event: String) throws -> TaskEvent.Kind? {
        switch event {
        case "task.created":
            .created(
                method: try self.decode(String.self, forKey: .method), url: try self.decode(String.self, forKey: .url))
        case "task.resumed": .resumed
        case "task.suspended": .suspended(try self.value(.reason, TaskEvent.SuspendReason.init(rawValue:)))
        case "task.held":
            .held(
                try self.value(.reason, HoldReason.init(rawValue:)),
                detail: try self.decodeIfPresent(String.self, forKey: .detail))
        case "task.released":
            .released(try self.value(.reason, HoldReason.init(rawValue:)), after: try self.seconds(.afterSeconds))
        case "task.gate":
            .gate(
                try self.value(.result, TaskEvent.GateResult.init(rawValue:)), waited: try self.seconds(.waitedSeconds))
        case "task.retryScheduled":
            .retryScheduled(
                try self.value(.reason, TaskEvent.RetryReason.init(label:)), delay: try self.seconds(.delaySeconds))
        case "task.retriesExhausted":
            .retriesExhausted(try self.value(.reason, TaskEvent.ExhaustionReason.init(rawValue:)))
        default: nil
        }
    }

    /// What happens to attempts, bytes and files; nil for other events.
    fileprivate func wire(_ event: String) throws -> TaskEvent.Kind? {
        switch event {
        case "task.attemptStarted": .attemptStarted(number: try self.decode(Int.self, forKey: .attempt))
        case "task.responseHead":
            .responseHead(
                status: try self.decode(Int.self, forKey: .status),
                expectedBytes: try self.decodeIfPresent(Int64.self, forKey: .expectedBytes))
        case "task.progress":
            .progress(
                TransferProgress(
                    receivedWire: try self.decode(Int64.self, forKey: .bytes),
                    expected: try self.decodeIfPresent(Int64.self, forKey: .expectedBytes),
                    sent: try self.decode(Int64.self, forKey: .sentBytes),
                    expectedSent: try self.decodeIfPresent(Int64.self, forKey: .expectedSentBytes),
                    attempt: try self.decode(Int.self, forKey: .attempt)), delta: .init())
        case "task.attemptFailed":
            .attemptFailed(
                try self.summary(), try self.value(.reason, TaskFailure.init(rawValue:)), try self.attribution(),
                isCharged: try self.decode(Bool.self, forKey: .charged))
        case "task.attemptSucceeded": .attemptSucceeded(try self.summary())
        case "task.continued":
            .continued(
                offset: try self.decode(Int64.self, forKey: .offsetBytes),
                total: try self.decodeIfPresent(Int64.self, forKey: .expectedBytes))
        case "task.restarted": .restarted(discarded: try self.decode(Int64.self, forKey: .discardedBytes))
        case "task.refetched": .refetched(bytes: try self.decode(Int64.self, forKey: .bytes))
        case "task.moved": .moved(file: try self.decode(String.self, forKey: .file))
        case "task.moveFailed":
            .moveFailed(
                file: try self.decode(String.self, forKey: .file),
                errorNumber: try self.decode(Int32.self, forKey: .errorNumber))
        default: nil
        }
    }

    fileprivate func result(_ event: String, _ id: TaskID, _ kind: TaskKind) throws -> TaskEvent.Kind? {
        guard event == "task.completed" else { return nil }
        return .completed(
            TaskResult(
                id: id, name: try self.decodeIfPresent(String.self, forKey: .name), kind: kind,
                method: try self.decode(String.self, forKey: .method), url: try self.decode(String.self, forKey: .url),
                outcome: try self.value(.outcome, TaskOutcome.init(rawValue:)),
                status: try self.decodeIfPresent(Int.self, forKey: .status),
                file: try self.decodeIfPresent(String.self, forKey: .file),
                bytes: try self.decode(Int64.self, forKey: .bytes),
                sentBytes: try self.decodeIfPresent(Int64.self, forKey: .sentBytes) ?? 0,
                duration: try self.seconds(.durationSeconds),
                failure: try self.optional(.reason, TaskFailure.init(rawValue:)), attribution: try self.attribution(),
                explanation: try self.decodeIfPresent(String.self, forKey: .explanation)))
    }

    private func summary() throws -> AttemptSummary {
        AttemptSummary(
            number: try self.decode(Int.self, forKey: .attempt), method: "",
            status: try self.decodeIfPresent(Int.self, forKey: .status), duration: .zero,
            tryNumber: try self.decodeIfPresent(Int.self, forKey: .tryNumber),
            span: try self.optional(.span, SpanID.init))
    }

    private func attribution() throws -> Attribution? {
        try self.optional(.party, FaultParty.init(rawValue:)).map { Attribution(party: $0) }
    }

    private func seconds(_ key: Key) throws -> Duration { .seconds(try self.decode(Double.self, forKey: key)) }

    fileprivate func value<Value>(_ key: Key, _ parse: (String) -> Value?) throws -> Value {
        guard let value = try self.optional(key, parse) else {
            throw DecodingError.valueNotFound(
                Value.self, .init(codingPath: self.codingPath + [key], debugDescription: "a value is missing"))
        }
        return value
    }

    fileprivate func optional<Value>(_ key: Key, _ parse: (String) -> Value?) throws -> Value? {
        guard let text = try self.decodeIfPresent(String.self, forKey: key) else { return nil }
        guard let value = parse(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "\"\(text)\" is not one of the known values")
        }
        return value
    }
}
