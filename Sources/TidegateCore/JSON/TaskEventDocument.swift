extension TaskEvent {
    /// The object that `tasks watch --json` prints for an event of a task.
    public func json(sequence: UInt64, time: WallTime) -> JSONValue {
        .object(
            [
                .init("schema", 1), .init("event", .string("task.\(self.kind.name)")),
                .init("seq", .integer(Int64(clamping: sequence))), .init("time", .string(time.description)),
                .init("task", .string(self.id.description)), .init("kind", .string(self.taskKind.rawValue)),
            ] + self.kind.members)
    }
}

extension TaskEvent.Kind {
    /// What happened, in one word of lower camel case.
    public var name: String {
        switch self {
        case .created: "created"
        case .resumed: "resumed"
        case .suspended: "suspended"
        case .held: "held"
        case .released: "released"
        case .gate: "gate"
        case .attemptStarted: "attemptStarted"
        case .responseHead: "responseHead"
        case .progress: "progress"
        case .attemptFailed: "attemptFailed"
        case .attemptSucceeded: "attemptSucceeded"
        case .retryScheduled: "retryScheduled"
        case .retriesExhausted: "retriesExhausted"
        case .restarted: "restarted"
        case .refetched: "refetched"
        case .moved: "moved"
        case .moveFailed: "moveFailed"
        case .completed: "completed"
        }
    }

    fileprivate var members: [JSONValue.Member] {
        switch self {
        case .created(let method, let url): [.init("method", .string(method)), .init("url", .string(url))]
        case .resumed: []
        case .suspended(let reason): [.init("reason", .string(reason.rawValue))]
        case .held(let reason, let detail):
            [.init("reason", .string(reason.rawValue)), .init("detail", .optional(detail))]
        case .released(let reason, let after):
            [.init("reason", .string(reason.rawValue)), .init("afterSeconds", .seconds(after))]
        case .gate(let result, let waited):
            [.init("result", .string(result.rawValue)), .init("waitedSeconds", .seconds(waited))]
        case .attemptStarted(let number): [.init("attempt", .integer(Int64(number)))]
        case .responseHead(let status, let expected):
            [.init("status", .integer(Int64(status))), .init("expectedBytes", .optional(expected))]
        case .progress(let progress, _): progress.members
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            [
                .init("attempt", .integer(Int64(summary.number))), .init("status", .optional(summary.status)),
                .init("reason", .string(failure.rawValue)), .init("party", .optional(attribution?.party.rawValue)),
                .init("charged", .bool(isCharged)),
            ]
        case .attemptSucceeded(let summary):
            [.init("attempt", .integer(Int64(summary.number))), .init("status", .optional(summary.status))]
        case .retryScheduled(let reason, let delay):
            [.init("reason", .string(reason.label)), .init("delaySeconds", .seconds(delay))]
        case .retriesExhausted(let reason): [.init("reason", .string(reason.rawValue))]
        case .restarted(let discarded): [.init("discardedBytes", .integer(discarded))]
        case .refetched(let bytes): [.init("bytes", .integer(bytes))]
        case .moved(let file): [.init("file", .string(file))]
        case .moveFailed(let file, let number):
            [.init("file", .string(file)), .init("errorNumber", .integer(Int64(number)))]
        case .completed(let result): result.eventMembers
        }
    }
}

extension TransferProgress {
    fileprivate var members: [JSONValue.Member] {
        [
            .init("attempt", .integer(Int64(self.attempt))),
            .init("bytes", .integer(self.offset + self.receivedWire)),
            .init("expectedBytes", .optional(self.expected)), .init("sentBytes", .integer(self.sent)),
            .init("fraction", self.fraction.map(JSONValue.number) ?? .null),
        ]
    }
}

extension TaskResult {
    fileprivate var eventMembers: [JSONValue.Member] {
        [
            .init("outcome", .string(self.outcome.rawValue)), .init("status", .optional(self.status)),
            .init("file", .optional(self.file)), .init("bytes", .integer(self.bytes)),
            .init("reason", .optional(self.failure?.rawValue)),
            .init("party", .optional(self.attribution?.party.rawValue)),
            .init("explanation", .optional(self.explanation)),
        ]
    }
}
