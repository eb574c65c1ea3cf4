/// A task as JSON: the daemon writes it, and its clients read it.
package struct TaskDocument: Sendable, Hashable, Decodable {
    package var id: String
    package var name: String?
    package var kind: String
    package var method: String
    package var url: String
    package var state: String
    package var waitsFor: String?
    package var detail: String?
    package var outcome: String?
    /// The number of the latest attempt; 0 before the first.
    package var attempt: Int
    package var bytes: Int64
    package var expectedBytes: Int64?
    package var sentBytes: Int64
    package var fraction: Double?
    /// The whole request body; nil if it is unknown.
    package var expectedSentBytes: Int64?
    package var sentFraction: Double?
    /// Whether the request's body is being sent; nil if the document does not say.
    package var sending: Bool?
    package var created: String
    package var started: String?
    package var file: String?
    /// Whether the task is in the journal; nil if the document has no members of the journal.
    package var durable: Bool?
    package var key: String?
    /// How many attempts were charged; nil until the task has ended.
    package var attempts: Int?
    package var ended: String?
    package var status: Int?
    package var reason: String?
    package var explanation: String?
    /// The responsible party of an ended task or of the last attempt; nil if nothing failed.
    package var party: String?
    /// When the next attempt, or the next run of the schedule, starts; nil if none is planned.
    package var nextRun: String?

    /// A task without the members that only a journal knows.
    package init(_ info: TaskInfo) {
        (self.id, self.name, self.kind) = (info.id.description, info.name, info.kind.rawValue)
        (self.method, self.url, self.state) = (info.method, info.url, info.state.name.rawValue)
        self.attempt = info.progress.attempt
        self.bytes = info.progress.offset + info.progress.receivedWire
        self.expectedBytes = info.progress.expected
        self.sentBytes = info.progress.sent
        self.fraction = info.progress.fraction
        (self.expectedSentBytes, self.sentFraction) = (info.progress.expectedSent, info.progress.fractionSent)
        self.sending = info.state.name == .running && info.progress.isSending
        (self.created, self.started) = (info.created.description, info.started?.description)
        self.file = info.file
        switch info.state {
        case .waiting(let reason, let detail): (self.waitsFor, self.detail) = (reason.rawValue, detail)
        case .completed(let outcome):
            self.outcome = outcome.rawValue
            (self.reason, self.explanation) = (info.failure?.rawValue, info.explanation)
            self.party = info.party?.rawValue
        case .running: self.detail = info.stall
        case .suspended: break
        }
    }

    package var json: JSONValue { .object(self.members) }

    /// The document as a response, which begins with the schema's number.
    package var response: JSONValue { .object([.init("schema", 1)] + self.members) }

    private var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("id", .string(self.id)), .init("name", .optional(self.name)), .init("kind", .string(self.kind)),
            .init("method", .string(self.method)), .init("url", .string(self.url)), .init("state", .string(self.state)),
            .init("waitsFor", .optional(self.waitsFor)), .init("detail", .optional(self.detail)),
            .init("outcome", .optional(self.outcome)), .init("attempt", .whole(self.attempt)),
            .init("bytes", .integer(self.bytes)), .init("expectedBytes", .optional(self.expectedBytes)),
            .init("sentBytes", .integer(self.sentBytes)), .init("fraction", .optional(self.fraction)),
            .init("expectedSentBytes", .optional(self.expectedSentBytes)),
            .init("sentFraction", .optional(self.sentFraction)), .init("sending", .bool(self.sending ?? false)),
            .init("created", .string(self.created)), .init("started", .optional(self.started)),
            .init("file", .optional(self.file)),
        ]
        guard let durable = self.durable else { return members }
        members += [
            .init("key", .optional(self.key)), .init("durable", .bool(durable)),
            .init("attempts", .optional(self.attempts)), .init("ended", .optional(self.ended)),
            .init("status", .optional(self.status)), .init("reason", .optional(self.reason)),
            .init("explanation", .optional(self.explanation)), .init("party", .optional(self.party)),
            .init("nextRun", .optional(self.nextRun)),
        ]
        return members
    }
}

/// The response to a submission as JSON.
package struct SubmitDocument: Sendable, Hashable, Decodable {
    package var id: String
    package var new: Bool

    package init(_ response: SubmitResponse) {
        self.id = response.id.description
        self.new = response.isNew
    }

    package var json: JSONValue { ["schema": 1, "id": .string(self.id), "new": .bool(self.new)] }
}
