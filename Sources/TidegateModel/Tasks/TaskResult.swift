/// How a task ended, with everything that `fetch --write-out json` tells about it.
public struct TaskResult: Sendable {
    /// The task.
    public var id: TaskID
    /// What it did with bodies.
    public var kind: TaskKind
    /// The request method.
    public var method: String
    /// The URL asked for, as it was given.
    public var url: String
    /// How it ended.
    public var outcome: TaskOutcome
    /// The last response status; nil where none came.
    public var status: Int?
    /// Body bytes delivered.
    public var bytes: Int64
    /// Body bytes before decoding, over all attempts.
    public var wireBytes: Int64
    /// Bytes received again for offsets that were already held.
    public var refetchedBytes: Int64
    /// How many attempts were charged against the policy; an attempt ended by a lost path is not.
    public var attempts: Int
    /// How long each kind of hold lasted in all.
    public var held: [HoldReason: Duration]
    /// From the first resume to the end.
    public var duration: Duration
    /// The phases of the last attempt.
    public var phases: PhaseDurations
    /// The name it was given in the configuration; nil for others.
    public var name: String? {
        get { self.rest?.details.name }
        set { if newValue != nil || self.rest != nil { self.change { $0.name = newValue } } }
    }
    /// The final file of a download that succeeded.
    public var file: String? {
        get { self.rest?.details.file }
        set { if newValue != nil || self.rest != nil { self.change { $0.file = newValue } } }
    }
    /// Why it failed; nil on success.
    public var failure: TaskFailure? {
        get { self.rest?.details.failure }
        set { if newValue != nil || self.rest != nil { self.change { $0.failure = newValue } } }
    }
    /// Whose failure it was; nil on success.
    public var attribution: Attribution? {
        get { self.rest?.details.attribution }
        set { if newValue != nil || self.rest != nil { self.change { $0.attribution = newValue } } }
    }
    /// What went wrong in one sentence, naming the resource; nil on success.
    public var explanation: String? {
        get { self.rest?.details.explanation }
        set { if newValue != nil || self.rest != nil { self.change { $0.explanation = newValue } } }
    }
    /// The requirement that never held, where the gate gave up.
    public var requireUnmet: Requirement? {
        get { self.rest?.details.requireUnmet }
        set { if newValue != nil || self.rest != nil { self.change { $0.requireUnmet = newValue } } }
    }
    /// The SHA-256 of the file in hexadecimal, where one was asked for.
    public var sha256: String? {
        get { self.rest?.details.sha256 }
        set { if newValue != nil || self.rest != nil { self.change { $0.sha256 = newValue } } }
    }

    // Most results are successes of data tasks, have none of these, and are handed on often.
    private var rest: Rest?

    /// A result from its parts.
    public init(
        id: TaskID, name: String? = nil, kind: TaskKind, method: String, url: String, outcome: TaskOutcome,
        status: Int? = nil, file: String? = nil, bytes: Int64 = 0, wireBytes: Int64 = 0, refetchedBytes: Int64 = 0,
        attempts: Int = 0, held: [HoldReason: Duration] = [:], duration: Duration = .zero,
        phases: PhaseDurations = .init(), failure: TaskFailure? = nil, attribution: Attribution? = nil,
        explanation: String? = nil, requireUnmet: Requirement? = nil, sha256: String? = nil
    ) {
        self.id = id
        self.kind = kind
        self.method = method
        self.url = url
        self.outcome = outcome
        self.status = status
        self.bytes = bytes
        self.wireBytes = wireBytes
        self.refetchedBytes = refetchedBytes
        self.attempts = attempts
        self.held = held
        self.duration = duration
        self.phases = phases
        let details = Details(
            name: name, file: file, failure: failure, attribution: attribution, explanation: explanation,
            requireUnmet: requireUnmet, sha256: sha256)
        self.rest = details == Details() ? nil : Rest(details)
    }

    private struct Details: Sendable, Equatable {
        var name: String?
        var file: String?
        var failure: TaskFailure?
        var attribution: Attribution?
        var explanation: String?
        var requireUnmet: Requirement?
        var sha256: String?
    }

    private final class Rest: Sendable {
        let details: Details

        init(_ details: Details) { self.details = details }
    }

    private mutating func change(_ change: (inout Details) -> Void) {
        var details = self.rest?.details ?? Details()
        change(&details)
        self.rest = Rest(details)
    }
}

/// A task's failure as the library throws it.
public struct TaskError: Error, Sendable, CustomStringConvertible {
    /// Why the task failed.
    public var reason: TaskFailure
    /// How many attempts were charged.
    public var attempts: Int
    /// Whose failure it was; nil where nobody's is (a cancelled task).
    public var attribution: Attribution?
    /// What went wrong in one sentence, naming the resource.
    public var underlying: String

    /// An error from its parts.
    public init(reason: TaskFailure, attempts: Int = 0, attribution: Attribution? = nil, underlying: String) {
        self.reason = reason
        self.attempts = attempts
        self.attribution = attribution
        self.underlying = underlying
    }

    /// ``underlying``.
    public var description: String { self.underlying }
}
