internal import TidegateCore
internal import TidegateTransfer

/// What the session's thread knows about the journal's side of one task.
final class JournalState {
    /// The task as it was when this process took it over.
    let task: JournaledTask
    /// How many suspensions the journal knows of, or was told of.
    var suspensions: Int
    /// True where a request that may not be sent twice may have been sent, as far as the journal knows.
    var isInDoubt: Bool
    /// True once a request has reached the wire: from then on the doubt stays.
    var hasReachedWire: Bool
    /// True while the answer about the next attempt is awaited.
    var awaited: AttemptID?
    /// Where that attempt goes.
    var addresses: [IPAddress] = []
    /// True where the task goes on in the next process.
    var isLeft = false
    var end = End.open
    /// Tasks that begin when this one is over.
    var followers: [UInt64] = []

    /// How far the task's end is known.
    enum End {
        case open, asked, written
    }

    init(_ task: JournaledTask) {
        self.task = task
        self.suspensions = task.suspensions
        self.isInDoubt = task.isInDoubt
        self.hasReachedWire = task.isInDoubt
    }
}

/// What the session's thread asked the journal for.
enum JournalWrite: Sendable {
    /// The count of suspensions; `done` hears when it has been applied.
    case suspensions(from: Int, to: Int, done: (@Sendable (JournalError?) -> Void)?)
    /// Leave to send a request that may not be sent twice.
    case sending(AttemptID)
    /// The mark before a file is moved.
    case placing
    case ended
    /// The journal can be written again.
    case writable
}

/// A task's journal entry, in one word of memory for the many tasks that have none.
final class JournalRef: Sendable {
    let task: JournaledTask

    init(_ task: JournaledTask) { self.task = task }
}
