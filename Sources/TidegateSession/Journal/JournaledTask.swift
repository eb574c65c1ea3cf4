package import TidegateCore

/// An accepted task as the journal has it: what was asked for, and how far it has come.
package struct JournaledTask: Sendable, Hashable {
    /// The task's id.
    package let id: TaskID
    /// When it was accepted.
    package let accepted: WallTime
    /// What was asked for.
    package let description: TaskDescription
    /// How many suspensions there are; 0 lets the task go.
    package var suspensions: Int
    /// The task that must end before this one begins; nil without one.
    package var predecessor: TaskID?
    /// True if a request that may not be sent twice may have been sent.
    package var isInDoubt = false
    /// What is held of the body; nil if nothing is.
    package var hold: ResumePoint?
    /// The finished file on its way to its place; nil before.
    package var placing: FileIdentity?
    /// How long the task had lived, and when that was written down.
    package var life: TaskLifetime
    /// How it ended; nil if it is not over.
    package var end: JournaledEnd?

    /// A task that was just accepted.
    package init(id: TaskID, accepted: WallTime, description: TaskDescription, suspensions: Int, life: TaskLifetime) {
        self.id = id
        self.accepted = accepted
        self.description = description
        self.suspensions = suspensions
        self.life = life
    }
}

/// How long a task had lived at a moment that later processes can place.
package struct TaskLifetime: Sendable, Hashable, Codable {
    /// Waiting included, suspensions not.
    package var lived: Duration
    /// The moment on the wall clock, in microseconds since 1970.
    package var wall: Int64
    /// The same moment on the monotonic clock, in nanoseconds.
    package var monotonic: UInt64
    /// The boot that the monotonic clock counts from.
    package var boot: String
    /// What the task had used up of what it is given; nil if nothing.
    package var effort: RetryProgress?

    /// A life of so much at a moment.
    package init(lived: Duration, wall: WallTime, monotonic: MonotonicTime, boot: String) {
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
package struct RetryProgress: Sendable, Hashable, Codable {
    /// How long it was neither suspended nor held.
    package var active: Duration
    /// How long it waited at its gate.
    package var waited: Duration
    /// How many attempts were charged.
    package var charged: Int
    /// How many of them failed in a row without progress.
    package var inARow: Int
}

/// How an accepted task ended.
package struct JournaledEnd: Sendable, Hashable {
    /// How.
    package var outcome: TaskOutcome
    /// Why it failed; nil on success.
    package var failure: TaskFailure?
    /// What went wrong in one sentence; nil on success.
    package var explanation: String?
    /// The last response status; nil if none came.
    package var status: Int?
    /// Body bytes delivered.
    package var bytes: Int64 = 0
    /// How many attempts were charged.
    package var attempts = 0
    /// When.
    package var at: WallTime
    /// Whose failure it was; nil unless it failed.
    package var party: FaultParty?
}

/// An accepted task as lists have it.
package struct JournaledTaskSummary: Sendable, Hashable {
    /// The task's id.
    package var id: TaskID
    /// When it was accepted.
    package var accepted: WallTime
    /// The caller's own name for the task; nil if duplicates do not matter.
    package var key: String?
    /// A name to be known by in lists.
    package var name: String?
    /// Its kind.
    package var kind: TaskKind
    /// The method.
    package var method: String
    /// The URL, without its query and credentials.
    package var url: String
    /// The file that receives the body; nil if it goes elsewhere.
    package var file: String?
    /// How many body bytes are held, if the task is not over.
    package var offset: Int64 = 0
    /// How many there are in all; nil if unknown.
    package var total: Int64?
    /// How it ended; nil if it is not over.
    package var end: JournaledEnd?

    /// A task that nothing is held of yet.
    package init(
        id: TaskID, accepted: WallTime, kind: TaskKind, method: String, url: String, end: JournaledEnd? = nil
    ) {
        (self.id, self.accepted, self.kind) = (id, accepted, kind)
        (self.method, self.url, self.end) = (method, url, end)
    }
}

extension JournaledEnd {
    /// An end, and nothing else about it.
    package init(_ outcome: TaskOutcome, at moment: WallTime) { (self.outcome, self.at) = (outcome, moment) }
}
