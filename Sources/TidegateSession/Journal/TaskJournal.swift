package import TidegateCore

/// Keeps tasks so that they survive their process; `Journal` of `TidegateStore` has one.
public struct TaskJournal: Sendable {
    package let storage: any JournalStorage

    /// The tasks that `storage` keeps.
    package init(_ storage: any JournalStorage) { self.storage = storage }
}

/// Keeps what a session must not forget when its process dies or its machine loses power.
///
/// Entries take effect in the order given. Every completion is called exactly once, on the journal's own thread, and
/// must not block; nothing here waits for a disk.
package protocol JournalStorage: Sendable {
    /// Names this boot of the machine: moments on the monotonic clock compare only within one.
    var boot: String { get }
    /// How often to make a download's bytes durable and record their number.
    var checkpointInterval: Duration { get }

    /// Accepts a task, or returns the one that already has its key; answers once that is durable.
    func accept(
        _ task: JournaledTask, onDuplicate: DuplicatePolicy,
        completion: @escaping @Sendable (Result<Acceptance, JournalError>) -> Void)

    /// Records an entry; answers once it is durable.
    ///
    /// Entries that are not ``JournalEntry/isUrgent`` wait a moment for others to share their transaction.
    func record(_ entry: JournalEntry, completion: @escaping @Sendable (Result<Void, JournalError>) -> Void)

    /// Finds tasks.
    func find(
        _ question: JournalQuestion, completion: @escaping @Sendable (Result<[JournaledTask], JournalError>) -> Void)

    /// Finds tasks for a list: without the data to continue them.
    ///
    /// A row that cannot be read is left out.
    func list(
        _ question: JournalQuestion,
        completion: @escaping @Sendable (Result<[JournaledTaskSummary], JournalError>) -> Void)

    /// Calls back once entries can be written again, after one could not.
    func whenWritable(_ completion: @escaping @Sendable () -> Void)
}

/// What happens to a submitted task if another one already has its key.
public enum DuplicatePolicy: String, Sendable, Hashable, CaseIterable {
    /// The known task stays, even if it is over, and nothing is added.
    case keep
    /// Known tasks that are not over are cancelled, and the new one takes their place.
    case replace
    /// The new task begins when the newest of the known ones is over.
    case append
}

/// The result of accepting a task.
package enum Acceptance: Sendable {
    /// It is in the journal, in this form.
    ///
    /// The tasks that it replaces are already cancelled there.
    case accepted(JournaledTask, replacing: [TaskID])
    /// Another one has its key, and stays.
    case kept(TaskID)
}

/// A query to a journal.
package enum JournalQuestion: Sendable, Hashable {
    /// Every task that is not over; oldest first.
    case unfinished
    /// One task.
    case task(TaskID)
    /// Some tasks.
    case among([TaskID])
    /// The newest task with a key.
    case keyed(String)
    /// The tasks that ended last, at most so many; the latest first.
    case ended(atMost: Int)
}

/// A change of a task that must not be forgotten.
package enum JournalEntry: Sendable, Hashable {
    /// The user suspended or resumed the task: how many suspensions there are now.
    case suspensions(TaskID, Int, TaskLifetime)
    /// A request that may not be sent twice may reach the wire from now on.
    case sending(TaskID)
    /// It did not reach the wire.
    case notSent(TaskID)
    /// The task was tried, and is not over.
    case tried(TaskID, TaskLifetime)
    /// This much of the body is durable.
    case held(TaskID, ResumePoint, TaskLifetime)
    /// The file is whole, and about to be moved to its place.
    case placing(TaskID, FileIdentity)
    /// The task is over.
    case ended(TaskID, JournaledEnd)

    /// True if something waits for the entry; false if it only saves work later.
    package var isUrgent: Bool {
        switch self {
        case .suspensions, .sending, .placing, .ended: true
        case .notSent, .tried, .held: false
        }
    }

    /// The task.
    package var id: TaskID {
        switch self {
        case .suspensions(let id, _, _), .sending(let id), .notSent(let id), .tried(let id, _), .held(let id, _, _),
            .placing(let id, _), .ended(let id, _):
            id
        }
    }
}

/// Why a journal cannot do what was requested.
package struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    package let reason: JournalIssue
    /// One sentence naming the file, without a final full stop.
    package let description: String

    /// An error from its parts.
    package init(_ reason: JournalIssue, _ sentence: String) {
        self.reason = reason
        self.description = sentence
    }

    static let ending = JournalError(.closed, "the session is ending: the next one goes on with its tasks as they are")
}

extension TaskError {
    init(_ error: JournalError) {
        let reason: TaskFailure =
            switch error.reason {
            case .diskFull: .diskFull
            case .disk, .closed: .internal
            }
        self.init(reason: reason, underlying: error.description)
    }
}
