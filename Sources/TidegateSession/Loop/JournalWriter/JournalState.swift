internal import TidegateCore
internal import TidegateTransfer

/// What the journal writer keeps of an accepted task.
final class JournalState {
    /// The task as it was when this process took it over.
    let task: JournaledTask
    /// How many suspensions the journal has, or will have once it has written what it was given.
    var suspensions: Int
    /// True if a request that may not be sent twice may have been sent, as far as the journal knows.
    var isInDoubt: Bool
    /// True once a request has reached the wire: from then on the doubt stays.
    var hasReachedWire: Bool
    /// The attempt that waits for the journal, and its addresses; nil if none does.
    var awaiting: (attempt: AttemptID, addresses: [IPAddress])?
    /// True if the task goes on in the next process.
    var isPreserved = false
    var end = End.open
    /// Tasks that begin when this one is over.
    var dependents: [UInt64] = []

    /// How far the task's end is written.
    enum End {
        case open, writing, written
    }

    init(_ task: JournaledTask) {
        self.task = task
        self.suspensions = task.suspensions
        self.isInDoubt = task.isInDoubt
        self.hasReachedWire = task.isInDoubt
    }
}
