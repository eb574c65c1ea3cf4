package import TidegateCore

/// An accepted task in the journal: the request and its progress.
package struct JournaledTask: Sendable, Hashable {
    /// The task's id.
    package let id: TaskID
    /// When it was accepted.
    package let accepted: WallTime
    /// The request.
    package let description: TaskDescription
    /// How many suspensions there are; with 0 the task runs.
    package var suspensions: Int
    /// The task that must end before this one begins; nil without one.
    package var predecessor: TaskID?
    /// True if a request that may not be sent twice may have been sent.
    package var isInDoubt = false
    /// The held part of the body; nil without one.
    package var hold: ResumePoint?
    /// The finished file on its way to its place; nil before.
    package var placing: FileIdentity?
    /// How long the task had lived, and when that was recorded.
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
    /// The used part of the task's retry limits; nil if nothing was used.
    package var effort: RetryProgress?

    /// A life of so much at a moment.
    package init(lived: Duration, wall: WallTime, monotonic: MonotonicTime, boot: String) {
        self.lived = lived
        self.wall = wall.microseconds
        self.monotonic = monotonic.nanoseconds
        self.boot = boot
    }

    /// How long a task that was not suspended in the meantime has lived now; never less than recorded.
    ///
    /// Within one boot the clock that never jumps decides; across boots only the wall clock remains.
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

/// The values that decide how often, and for how long, a task is still retried.
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
    /// The outcome.
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
    /// The time of the end.
    package var at: WallTime
    /// The responsible party; nil unless it failed.
    package var party: FaultParty?
}

/// An accepted task for lists.
package struct JournaledTaskSummary: Sendable, Hashable {
    /// The task's id.
    package var id: TaskID
    /// When it was accepted.
    package var accepted: WallTime
    /// The caller's own name for the task; nil if duplicates are allowed.
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

    /// A task without any received bytes.
    package init(
        id: TaskID, accepted: WallTime, kind: TaskKind, method: String, url: String, end: JournaledEnd? = nil
    ) {
        (self.id, self.accepted, self.kind) = (id, accepted, kind)
        (self.method, self.url, self.end) = (method, url, end)
    }
}

extension JournaledEnd {
    /// An end with nothing but its outcome and time.
    package init(_ outcome: TaskOutcome, at moment: WallTime) { (self.outcome, self.at) = (outcome, moment) }
}
