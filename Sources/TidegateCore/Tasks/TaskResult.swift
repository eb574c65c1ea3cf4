/// How a task ended, with everything that `fetch --write-out json` prints about it.
public struct TaskResult: Sendable, CustomStringConvertible {
    /// The task.
    public var id: TaskID { self.parts.value.id }
    /// What it did with bodies.
    package var kind: TaskKind { self.parts.value.kind }
    /// The request method.
    package var method: String { self.parts.value.method }
    // Beside the rest: the session replaces it in each result that it publishes.
    /// The requested URL, as it was given.
    public var url: String
    /// How it ended.
    public var outcome: TaskOutcome { self.parts.value.outcome }
    /// The last response status; nil if none came.
    public var status: Int? { self.parts.value.status }
    /// Body bytes delivered.
    public var bytes: Int64 { self.parts.value.bytes }
    /// Body bytes before decoding, over all attempts.
    public var wireBytes: Int64 { self.parts.value.wireBytes }
    /// Request body bytes sent, over all attempts.
    public var sentBytes: Int64 { self.parts.value.sentBytes }
    /// Bytes received again for offsets that were already held.
    package var refetchedBytes: Int64 { self.parts.value.refetchedBytes }
    /// How many attempts were charged against the policy; an attempt ended by a lost path is not.
    public var attempts: Int { self.parts.value.attempts }
    /// How long each kind of hold lasted in all.
    public var held: [HoldReason: Duration] { self.parts.value.held }
    /// From the first resume to the end.
    public var duration: Duration { self.parts.value.duration }
    /// The phases of the last attempt.
    package var phases: PhaseDurations { self.parts.value.phases }
    /// The name it was given in the configuration; nil for others.
    package var name: String? { self.parts.value.name }
    /// The submitter's own name for it; nil for others.
    package var key: String? { self.parts.value.key }
    /// The final file of a download that succeeded.
    public var file: String? { self.parts.value.file }
    /// Why it failed; nil on success.
    public var failure: TaskFailure? { self.parts.value.failure }
    /// The responsible party; nil on success.
    public var attribution: Attribution? { self.parts.value.attribution }
    /// What went wrong in one sentence, naming the resource; nil on success.
    public var explanation: String? { self.parts.value.explanation }
    /// ``explanation`` without the resource and the number of attempts; nil on success.
    package var clause: String? { self.parts.value.clause }
    /// How long it was neither held nor suspended; nil if that is not known.
    package var activeTime: Duration? { self.parts.value.activeTime }
    /// The requirement that was not met when the gate timed out.
    package var requireUnmet: Requirement? { self.parts.value.requireUnmet }
    /// The SHA-256 of the file in hexadecimal, if one was asked for.
    public var sha256: String? { self.parts.value.sha256 }
    /// True if the response is a stored one that the server has confirmed by a 304.
    public var isRevalidated: Bool { self.parts.value.isRevalidated }

    // Behind one reference: a result is copied often, and read in few places.
    private let parts: Indirect<Parts>

    /// A result from its parts.
    package init(
        id: TaskID, name: String? = nil, key: String? = nil, kind: TaskKind, method: String, url: String,
        outcome: TaskOutcome,
        status: Int? = nil, file: String? = nil, bytes: Int64 = 0, wireBytes: Int64 = 0, sentBytes: Int64 = 0,
        refetchedBytes: Int64 = 0, attempts: Int = 0, held: [HoldReason: Duration] = [:], duration: Duration = .zero,
        phases: PhaseDurations = .init(), failure: TaskFailure? = nil, attribution: Attribution? = nil,
        explanation: String? = nil, requireUnmet: Requirement? = nil, sha256: String? = nil,
        clause: String? = nil, activeTime: Duration? = nil, isRevalidated: Bool = false
    ) {
        self.url = url
        self.parts = Indirect(
            Parts(
                id: id, kind: kind, method: method, outcome: outcome, status: status, bytes: bytes,
                wireBytes: wireBytes, sentBytes: sentBytes, refetchedBytes: refetchedBytes, attempts: attempts,
                held: held,
                duration: duration, phases: phases, name: name, key: key, file: file, failure: failure,
                attribution: attribution,
                explanation: explanation, requireUnmet: requireUnmet, sha256: sha256, clause: clause,
                activeTime: activeTime, isRevalidated: isRevalidated))
    }

    private struct Parts: Sendable {
        var id: TaskID
        var kind: TaskKind
        var method: String
        var outcome: TaskOutcome
        var status: Int?
        var bytes: Int64
        var wireBytes: Int64
        var sentBytes: Int64
        var refetchedBytes: Int64
        var attempts: Int
        var held: [HoldReason: Duration]
        var duration: Duration
        var phases: PhaseDurations
        var name: String?
        var key: String?
        var file: String?
        var failure: TaskFailure?
        var attribution: Attribution?
        var explanation: String?
        var requireUnmet: Requirement?
        var sha256: String?
        var clause: String?
        var activeTime: Duration?
        var isRevalidated: Bool
    }

    /// The failure as an error; nil on success.
    public var error: TaskError? {
        guard let failure = self.failure else { return nil }
        return TaskError(
            reason: failure, attempts: self.attempts, attribution: self.attribution,
            underlying: self.explanation ?? "the task failed")
    }

    /// What happened, in one line: `GET https://example.com/: success, status 200, 1256 bytes, 1 attempt, 120 ms`.
    public var description: String {
        var parts = [self.outcome.rawValue]
        if let status = self.status { parts.append("status \(status)") }
        parts.append("\(self.bytes) bytes")
        parts.append(self.attempts == 1 ? "1 attempt" : "\(self.attempts) attempts")
        parts.append(self.duration.shortText)
        if let explanation = self.explanation { parts.append(explanation) }
        return "\(self.method) \(self.url): " + parts.joined(separator: ", ")
    }

    /// What went each way: `1.5 MiB`, or with a request body `5.0 MiB sent, 12 B received`.
    package var volume: String {
        guard self.sentBytes > 0 else { return ByteText(self.bytes).description }
        return "\(ByteText(self.sentBytes)) sent, \(ByteText(self.bytes)) received"
    }

    /// The object that `fetch --write-out json` prints for a finished transfer.
    package var json: JSONValue {
        let held = HoldReason.allCases.compactMap { reason in
            self.held[reason].map { JSONValue.Member(reason.rawValue, .seconds($0)) }
        }
        let phases = PhaseDurations.Phase.allCases.compactMap { phase in
            self.phases[phase].map { JSONValue.Member(phase.rawValue, .seconds($0)) }
        }
        return [
            "schema": 1, "url": .string(self.url), "taskId": .string(self.id.description),
            "outcome": .string(self.outcome.rawValue), "status": .optional(self.status), "file": .optional(self.file),
            "bytes": .integer(self.bytes), "wireBytes": .integer(self.wireBytes), "sentBytes": .integer(self.sentBytes),
            "refetchedBytes": .integer(self.refetchedBytes), "attempts": .whole(self.attempts),
            "heldSeconds": .object(held), "durationSeconds": .seconds(self.duration), "phaseSeconds": .object(phases),
            "reason": .optional(self.failure?.rawValue), "party": .optional(self.attribution?.party.rawValue),
            "requireUnmet": .optional(self.requireUnmet?.description), "sha256": .optional(self.sha256),
            "notModified": .bool(self.isRevalidated),
        ]
    }
}

/// A task's failure as the library throws it.
public struct TaskError: Error, Sendable, CustomStringConvertible {
    /// Why the task failed.
    public var reason: TaskFailure
    /// How many attempts were charged.
    public var attempts: Int
    /// The responsible party; nil for a cancelled task.
    public var attribution: Attribution?
    /// What went wrong in one sentence, naming the resource.
    public var underlying: String
    /// The last response's status; nil if there was none.
    public var status: Int?
    /// The first 64 KiB of the body of a refused response (a status other than 2xx); empty otherwise.
    public var body: [UInt8] = []

    /// An error from its parts.
    package init(reason: TaskFailure, attempts: Int = 0, attribution: Attribution? = nil, underlying: String) {
        (self.reason, self.attempts, self.attribution, self.underlying) = (reason, attempts, attribution, underlying)
    }

    /// ``underlying``.
    public var description: String { self.underlying }
}
