public import TidegateCore

/// An accepted task as the journal has it: what was asked for, and how far it has come.
public struct JournaledTask: Sendable, Hashable {
    /// The task's id.
    public let id: TaskID
    /// When it was accepted.
    public let accepted: WallTime
    /// What was asked for.
    public let description: TaskDescription
    /// How many suspensions there are; 0 lets the task go.
    public var suspensions: Int
    /// The task that has to be over before this one begins; nil if there is none.
    public var predecessor: TaskID?
    /// True if a request that may not be sent twice may have been sent.
    public var isInDoubt = false
    /// What is held of the body; nil if nothing is.
    public var hold: ResumePoint?
    /// The finished file on its way to its place; nil before.
    public var placing: FileIdentity?
    /// How long the task had lived, and when that was written down.
    public var life: TaskLifetime
    /// How it ended; nil if it is not over.
    public var end: JournaledEnd?

    /// A task that was just accepted.
    public init(
        id: TaskID, accepted: WallTime, description: TaskDescription, suspensions: Int, life: TaskLifetime
    ) {
        self.id = id
        self.accepted = accepted
        self.description = description
        self.suspensions = suspensions
        self.life = life
    }
}

/// How long a task had lived at a moment that later processes can place.
public struct TaskLifetime: Sendable, Hashable, Codable {
    /// Waiting included, suspensions not.
    public var lived: Duration
    /// The moment on the wall clock, in microseconds since 1970.
    public var wall: Int64
    /// The same moment on the monotonic clock, in nanoseconds.
    public var monotonic: UInt64
    /// The boot that the monotonic clock counts from.
    public var boot: String
    /// What the task had used up of what it is given; nil if nothing.
    public var effort: RetryProgress?

    /// A life of so much at a moment.
    public init(lived: Duration, wall: WallTime, monotonic: MonotonicTime, boot: String) {
        self.lived = lived
        self.wall = wall.microseconds
        self.monotonic = monotonic.nanoseconds
        self.boot = boot
    }

    /// How long a task has lived now that was not suspended meanwhile; never less than was written down.
    ///
    /// Within one boot the clock that never jumps decides; across boots only the wall clock is left.
    func lived(at now: TaskLifetime) -> Duration {
        let passed: Duration =
            if now.boot == self.boot, !self.boot.isEmpty {
                MonotonicTime(nanoseconds: now.monotonic) - MonotonicTime(nanoseconds: self.monotonic)
            } else {
                .microseconds(now.wall.subtractingReportingOverflow(self.wall).partialValue)
            }
        return self.lived + max(.zero, passed)
    }
}

/// What decides how often, and for how long, a task is still tried.
public struct RetryProgress: Sendable, Hashable, Codable {
    /// How long it was neither suspended nor held.
    public var active: Duration
    /// How long it waited at its gate.
    public var waited: Duration
    /// How many attempts were charged.
    public var charged: Int
    /// How many of them failed in a row without progress.
    public var inARow: Int

    /// An effort from its parts.
    public init(active: Duration, waited: Duration, charged: Int, inARow: Int) {
        self.active = active
        self.waited = waited
        self.charged = charged
        self.inARow = inARow
    }
}

/// How an accepted task ended.
public struct JournaledEnd: Sendable, Hashable {
    /// How.
    public var outcome: TaskOutcome
    /// Why it failed; nil on success.
    public var failure: TaskFailure?
    /// What went wrong in one sentence; nil on success.
    public var explanation: String?
    /// The last response status; nil if none came.
    public var status: Int?
    /// Body bytes delivered.
    public var bytes: Int64
    /// How many attempts were charged.
    public var attempts: Int
    /// When.
    public var at: WallTime

    /// An end from its parts.
    public init(
        outcome: TaskOutcome, failure: TaskFailure? = nil, explanation: String? = nil, status: Int? = nil,
        bytes: Int64 = 0, attempts: Int = 0, at: WallTime
    ) {
        self.outcome = outcome
        self.failure = failure
        self.explanation = explanation
        self.status = status
        self.bytes = bytes
        self.attempts = attempts
        self.at = at
    }
}
