package import TidegateCore

/// A journal that lets tasks survive their process; `Journal` of `TidegateStore` provides one.
public struct TaskJournal: Sendable {
    package let storage: any JournalStorage

    /// Creates a journal on `storage`.
    package init(_ storage: any JournalStorage) { self.storage = storage }
}

/// Stores what a session must not lose if its process dies or the machine loses power.
///
/// Entries take effect in the order given. Every completion is called exactly once, on the journal's own thread, and
/// must not block; nothing here waits for a disk.
package protocol JournalStorage: Sendable {
    /// Identifies this boot of the machine: moments on the monotonic clock compare only within one boot.
    var boot: String { get }
    /// How often to make a download's bytes durable and record their number.
    var checkpointInterval: Duration { get }

    /// Accepts a task, or returns the one that already has its key; answers once the result is durable.
    func accept(
        _ task: JournaledTask, onDuplicate: DuplicatePolicy,
        completion: @escaping @Sendable (Result<Acceptance, JournalError>) -> Void)

    /// Records an entry; answers once it is durable.
    ///
    /// Entries that are not ``JournalEntry/isUrgent`` wait briefly so that several can share a transaction.
    func record(_ entry: JournalEntry, completion: @escaping @Sendable (Result<Void, JournalError>) -> Void)

    /// Finds tasks.
    func find(
        _ question: JournalQuestion, completion: @escaping @Sendable (Result<[JournaledTask], JournalError>) -> Void)

    /// Finds tasks for a list, without the data to continue them.
    ///
    /// Unreadable rows are left out.
    func list(
        _ question: JournalQuestion,
        completion: @escaping @Sendable (Result<[JournaledTaskSummary], JournalError>) -> Void)

    /// Calls back when entries can be written again after a failure.
    func whenWritable(_ completion: @escaping @Sendable () -> Void)
}

/// What to do with a submitted task if another one already has its key.
public enum DuplicatePolicy: String, Sendable, Hashable, CaseIterable {
    /// The existing task stays, even if it has ended, and nothing is added.
    case keep
    /// Existing tasks that have not ended are cancelled, and the new one replaces them.
    case replace
    /// The new task starts when the newest existing one ends.
    case append
}

/// The result of accepting a task.
package enum Acceptance: Sendable {
    /// The task is in the journal, in this form.
    ///
    /// The tasks that it replaces are already cancelled there.
    case accepted(JournaledTask, replacing: [TaskID])
    /// Another task has its key and stays.
    case kept(TaskID)
}

/// A query to a journal.
package enum JournalQuestion: Sendable, Hashable {
    /// Every task that has not ended, oldest first.
    case unfinished
    /// One task.
    case task(TaskID)
    /// Some tasks.
    case among([TaskID])
    /// The newest task with a key.
    case keyed(String)
    /// The most recently ended tasks, up to a number, latest first.
    case ended(atMost: Int)
}

/// A change of a task that must not be lost.
package enum JournalEntry: Sendable, Hashable {
    /// The user suspended or resumed the task, which now has this number of suspensions.
    case suspensions(TaskID, Int, TaskLifetime)
    /// A non-repeatable request may reach the wire from now on.
    case sending(TaskID)
    /// The request did not reach the wire.
    case notSent(TaskID)
    /// The task was tried and has not ended.
    case tried(TaskID, TaskLifetime)
    /// This much of the body is durable.
    case held(TaskID, ResumePoint, TaskLifetime)
    /// The file is complete and about to be moved to its destination.
    case placing(TaskID, FileIdentity)
    /// The task has ended.
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

/// An error of a journal.
package struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    package let reason: JournalIssue
    /// One sentence that names the file, without a full stop.
    package let description: String

    /// Creates an error.
    package init(_ reason: JournalIssue, _ sentence: String) {
        self.reason = reason
        self.description = sentence
    }

    static let ending = JournalError(.closed, "the session is ending: the next one continues its tasks")
}

extension TaskError {
    init(_ error: JournalError) {
        let reason: TaskFailure =
            switch error.reason {
            // The journal has no place for the task, and submitting it again later may help.
            case .diskFull, .removed: .diskFull
            case .disk, .closed: .internal
            }
        self.init(reason: reason, underlying: error.description)
    }
}
