package import TidegateCore

/// An accepted task in the journal: the request and its progress.
package struct JournaledTask: Sendable, Hashable {
    /// The task's id.
    package let id: TaskID
    /// When it was accepted.
    package let accepted: WallTime
    /// The request.
    package let description: TaskDescription
    /// The number of suspensions; at 0 the task runs.
    package var suspensions: Int
    /// The task that must end before this one starts; nil if none exists.
    package var predecessor: TaskID?
    /// True if a non-repeatable request may have been sent.
    package var isInDoubt = false
    /// The part of the body held so far; nil if none.
    package var hold: ResumePoint?
    /// The finished file while it is being moved to its destination; nil before.
    package var placing: FileIdentity?
    /// The task's lifetime, and when it was recorded.
    package var life: TaskLifetime
    /// How it ended; nil while it has not ended.
    package var end: JournaledEnd?

    /// A newly accepted task.
    package init(id: TaskID, accepted: WallTime, description: TaskDescription, suspensions: Int, life: TaskLifetime) {
        self.id = id
        self.accepted = accepted
        self.description = description
        self.suspensions = suspensions
        self.life = life
    }
}

/// A task's lifetime at a moment that later processes can interpret.
package struct TaskLifetime: Sendable, Hashable, Codable {
    /// The lifetime, including waits but not suspensions.
    package var lived: Duration
    /// The moment on the wall clock, in microseconds since 1970.
    package var wall: Int64
    /// The same moment on the monotonic clock, in nanoseconds.
    package var monotonic: UInt64
    /// The boot that the monotonic clock counts from.
    package var boot: String
    /// The used part of the task's retry limits; nil if nothing was used.
    package var effort: RetryProgress?

    /// Creates a lifetime at a moment.
    package init(lived: Duration, wall: WallTime, monotonic: MonotonicTime, boot: String) {
        self.lived = lived
        self.wall = wall.microseconds
        self.monotonic = monotonic.nanoseconds
        self.boot = boot
    }

    /// The current lifetime of a task that was not suspended in the meantime; never less than recorded.
    ///
    /// Within one boot the monotonic clock decides; across boots only the wall clock remains.
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

/// The values that limit how often and how long a task is still retried.
package struct RetryProgress: Sendable, Hashable, Codable {
    /// How long it was neither suspended nor held.
    package var active: Duration
    /// How long it waited at its gate.
    package var waited: Duration
    /// The number of charged attempts.
    package var charged: Int
    /// The number of consecutive failures without progress.
    package var inARow: Int
    /// The number of failed attempts that made progress; nil in an older journal.
    package var free: Int?
    /// How long the server asked to be left alone from then on (RFC 9110 10.2.3); nil if it did not.
    package var pause: Duration?
}

/// How an accepted task ended.
package struct JournaledEnd: Sendable, Hashable {
    /// The outcome.
    package var outcome: TaskOutcome
    /// Why it failed; nil on success.
    package var failure: TaskFailure?
    /// The error in one sentence; nil on success.
    package var explanation: String?
    /// The last response status; nil if no response arrived.
    package var status: Int?
    /// Body bytes delivered.
    package var bytes: Int64 = 0
    /// The number of charged attempts.
    package var attempts = 0
    /// When it ended.
    package var at: WallTime
    /// The responsible party; nil unless it failed.
    package var party: FaultParty?
}

/// The entry of an accepted task in lists.
package struct JournaledTaskSummary: Sendable, Hashable {
    /// The task's id.
    package var id: TaskID
    /// When it was accepted.
    package var accepted: WallTime
    /// The caller's own key for the task; nil if duplicates are allowed.
    package var key: String?
    /// A name for the task in lists.
    package var name: String?
    /// Its kind.
    package var kind: TaskKind
    /// The method.
    package var method: String
    /// The URL, without its query and credentials.
    package var url: String
    /// The file that receives the body; nil for other destinations.
    package var file: String?
    /// The number of body bytes held by a task that has not ended.
    package var offset: Int64 = 0
    /// The total number of body bytes; nil if unknown.
    package var total: Int64?
    /// How it ended; nil while it has not ended.
    package var end: JournaledEnd?

    /// An entry for a task without received bytes.
    package init(
        id: TaskID, accepted: WallTime, kind: TaskKind, method: String, url: String, end: JournaledEnd? = nil
    ) {
        (self.id, self.accepted, self.kind) = (id, accepted, kind)
        (self.method, self.url, self.end) = (method, url, end)
    }
}

extension JournaledEnd {
    /// An end with only its outcome and time.
    package init(_ outcome: TaskOutcome, at moment: WallTime) { (self.outcome, self.at) = (outcome, moment) }
}
