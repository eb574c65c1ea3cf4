/// How a task ended, with everything that `fetch --write-out json` tells about it.
public struct TaskResult: Sendable {
    /// The task.
    public var id: TaskID {
        get { self.box.parts.id }
        set { self.parts.id = newValue }
    }
    /// What it did with bodies.
    public var kind: TaskKind {
        get { self.box.parts.kind }
        set { self.parts.kind = newValue }
    }
    /// The request method.
    public var method: String {
        get { self.box.parts.method }
        set { self.parts.method = newValue }
    }
    // Beside the rest: each result is told with two forms of it.
    /// The URL asked for, as it was given.
    public var url: String
    /// How it ended.
    public var outcome: TaskOutcome {
        get { self.box.parts.outcome }
        set { self.parts.outcome = newValue }
    }
    /// The last response status; nil where none came.
    public var status: Int? {
        get { self.box.parts.status }
        set { self.parts.status = newValue }
    }
    /// Body bytes delivered.
    public var bytes: Int64 {
        get { self.box.parts.bytes }
        set { self.parts.bytes = newValue }
    }
    /// Body bytes before decoding, over all attempts.
    public var wireBytes: Int64 {
        get { self.box.parts.wireBytes }
        set { self.parts.wireBytes = newValue }
    }
    /// Bytes received again for offsets that were already held.
    public var refetchedBytes: Int64 {
        get { self.box.parts.refetchedBytes }
        set { self.parts.refetchedBytes = newValue }
    }
    /// How many attempts were charged against the policy; an attempt ended by a lost path is not.
    public var attempts: Int {
        get { self.box.parts.attempts }
        set { self.parts.attempts = newValue }
    }
    /// How long each kind of hold lasted in all.
    public var held: [HoldReason: Duration] {
        get { self.box.parts.held }
        set { self.parts.held = newValue }
    }
    /// From the first resume to the end.
    public var duration: Duration {
        get { self.box.parts.duration }
        set { self.parts.duration = newValue }
    }
    /// The phases of the last attempt.
    public var phases: PhaseDurations {
        get { self.box.parts.phases }
        set { self.parts.phases = newValue }
    }
    /// The name it was given in the configuration; nil for others.
    public var name: String? {
        get { self.box.parts.name }
        set { self.parts.name = newValue }
    }
    /// The final file of a download that succeeded.
    public var file: String? {
        get { self.box.parts.file }
        set { self.parts.file = newValue }
    }
    /// Why it failed; nil on success.
    public var failure: TaskFailure? {
        get { self.box.parts.failure }
        set { self.parts.failure = newValue }
    }
    /// Whose failure it was; nil on success.
    public var attribution: Attribution? {
        get { self.box.parts.attribution }
        set { self.parts.attribution = newValue }
    }
    /// What went wrong in one sentence, naming the resource; nil on success.
    public var explanation: String? {
        get { self.box.parts.explanation }
        set { self.parts.explanation = newValue }
    }
    /// The requirement that never held, where the gate gave up.
    public var requireUnmet: Requirement? {
        get { self.box.parts.requireUnmet }
        set { self.parts.requireUnmet = newValue }
    }
    /// The SHA-256 of the file in hexadecimal, where one was asked for.
    public var sha256: String? {
        get { self.box.parts.sha256 }
        set { self.parts.sha256 = newValue }
    }

    // Behind one reference: a result is handed on often, and read in few places.
    private var box: Box

    /// A result from its parts.
    public init(
        id: TaskID, name: String? = nil, kind: TaskKind, method: String, url: String, outcome: TaskOutcome,
        status: Int? = nil, file: String? = nil, bytes: Int64 = 0, wireBytes: Int64 = 0, refetchedBytes: Int64 = 0,
        attempts: Int = 0, held: [HoldReason: Duration] = [:], duration: Duration = .zero,
        phases: PhaseDurations = .init(), failure: TaskFailure? = nil, attribution: Attribution? = nil,
        explanation: String? = nil, requireUnmet: Requirement? = nil, sha256: String? = nil
    ) {
        self.url = url
        self.box = Box(
            Parts(
                id: id, kind: kind, method: method, outcome: outcome, status: status, bytes: bytes,
                wireBytes: wireBytes, refetchedBytes: refetchedBytes, attempts: attempts, held: held,
                duration: duration, phases: phases, name: name, file: file, failure: failure, attribution: attribution,
                explanation: explanation, requireUnmet: requireUnmet, sha256: sha256))
    }

    private struct Parts: Sendable {
        var id: TaskID
        var kind: TaskKind
        var method: String
        var outcome: TaskOutcome
        var status: Int?
        var bytes: Int64
        var wireBytes: Int64
        var refetchedBytes: Int64
        var attempts: Int
        var held: [HoldReason: Duration]
        var duration: Duration
        var phases: PhaseDurations
        var name: String?
        var file: String?
        var failure: TaskFailure?
        var attribution: Attribution?
        var explanation: String?
        var requireUnmet: Requirement?
        var sha256: String?
    }

    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    // A change is rare, and makes the value a box of its own.
    private var parts: Parts {
        get { self.box.parts }
        set { self.box = Box(newValue) }
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
