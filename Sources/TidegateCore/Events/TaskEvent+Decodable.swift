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
        self.init(
            id: try container.value(.task, TaskID.init), taskKind: try container.get(.kind),
            trace: try container.find(.trace, TraceID.init), kind: try container.eventKind())
    }
}

extension KeyedDecodingContainer<TaskEvent.Key> {
    fileprivate func eventKind() throws -> TaskEvent.Kind {
        let event: String = try self.get(.event)
        switch event {
        case "task.created": return .created(method: try self.get(.method), url: try self.get(.url))
        case "task.resumed": return .resumed
        case "task.suspended": return .suspended(try self.get(.reason))
        case "task.held": return .held(try self.get(.reason), detail: try self.find(.detail))
        case "task.released": return .released(try self.get(.reason), after: try self.seconds(.afterSeconds))
        case "task.gate": return .gate(try self.get(.result), waited: try self.seconds(.waitedSeconds))
        case "task.retryScheduled":
            let reason = try self.value(.reason, TaskEvent.RetryReason.init(label:))
            return .retryScheduled(reason, delay: try self.seconds(.delaySeconds))
        case "task.retriesExhausted": return .retriesExhausted(try self.get(.reason))
        case "task.attemptStarted": return .attemptStarted(number: try self.get(.attempt))
        case "task.responseHead":
            return .responseHead(status: try self.get(.status), expectedBytes: try self.find(.expectedBytes))
        case "task.progress": return .progress(try self.progress(), delta: .init())
        case "task.attemptFailed":
            return .attemptFailed(
                try self.summary(), try self.get(.reason), try self.attribution(), isCharged: try self.get(.charged))
        case "task.attemptSucceeded": return .attemptSucceeded(try self.summary())
        case "task.continued":
            return .continued(offset: try self.get(.offsetBytes), total: try self.find(.expectedBytes))
        case "task.restarted": return .restarted(discarded: try self.get(.discardedBytes))
        case "task.refetched": return .refetched(bytes: try self.get(.bytes))
        case "task.moved": return .moved(file: try self.get(.file))
        case "task.moveFailed": return .moveFailed(file: try self.get(.file), errorNumber: try self.get(.errorNumber))
        case "task.completed": return .completed(try self.result())
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .event, in: self, debugDescription: "\"\(event)\" is not an event of a task")
        }
    }

    private func progress() throws -> TransferProgress {
        TransferProgress(
            receivedWire: try self.get(.bytes), expected: try self.find(.expectedBytes), sent: try self.get(.sentBytes),
            expectedSent: try self.find(.expectedSentBytes), attempt: try self.get(.attempt))
    }

    private func result() throws -> TaskResult {
        TaskResult(
            id: try self.value(.task, TaskID.init), name: try self.find(.name), kind: try self.get(.kind),
            method: try self.get(.method), url: try self.get(.url), outcome: try self.get(.outcome),
            status: try self.find(.status), file: try self.find(.file), bytes: try self.get(.bytes),
            sentBytes: try self.find(.sentBytes) ?? 0, duration: try self.seconds(.durationSeconds),
            failure: try self.find(.reason), attribution: try self.attribution(),
            explanation: try self.find(.explanation))
    }

    private func summary() throws -> AttemptSummary {
        AttemptSummary(
            number: try self.get(.attempt), method: "", status: try self.find(.status), duration: .zero,
            tryNumber: try self.find(.tryNumber), span: try self.find(.span, SpanID.init))
    }

    private func attribution() throws -> Attribution? {
        let party: FaultParty? = try self.find(.party)
        return party.map { Attribution(party: $0) }
    }

    private func seconds(_ key: Key) throws -> Duration { .seconds(try self.decode(Double.self, forKey: key)) }

    // MARK: One value

    private func get<Value: Decodable>(_ key: Key) throws -> Value { try self.decode(Value.self, forKey: key) }

    private func find<Value: Decodable>(_ key: Key) throws -> Value? {
        try self.decodeIfPresent(Value.self, forKey: key)
    }

    fileprivate func get<Value: RawRepresentable<String>>(_ key: Key) throws -> Value {
        try self.value(key, Value.init(rawValue:))
    }

    private func find<Value: RawRepresentable<String>>(_ key: Key) throws -> Value? {
        try self.find(key, Value.init(rawValue:))
    }

    fileprivate func value<Value>(_ key: Key, _ parse: (String) -> Value?) throws -> Value {
        guard let value = try self.find(key, parse) else {
            throw DecodingError.valueNotFound(
                Value.self, .init(codingPath: self.codingPath + [key], debugDescription: "a value is missing"))
        }
        return value
    }

    fileprivate func find<Value>(_ key: Key, _ parse: (String) -> Value?) throws -> Value? {
        guard let text = try self.decodeIfPresent(String.self, forKey: key) else { return nil }
        guard let value = parse(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "\"\(text)\" is not one of the known values")
        }
        return value
    }
}
