internal import Glibc
internal import TidegateLoop
package import TidegateCore
package import TidegateSession

/// Accepted tasks and path events in a SQLite file, written by a thread of its own.
///
/// Everything that waits while a transaction is being made durable shares the next one.
package final class Journal: TaskJournal {
    /// How long things are kept.
    package struct Retention: Sendable, Hashable {
        /// Tasks that are over.
        package var completed: Duration
        /// Changes of verdicts.
        package var pathEvents: Duration

        /// A day, and a week.
        package init(completed: Duration = .seconds(86_400), pathEvents: Duration = .seconds(7 * 86_400)) {
            self.completed = completed
            self.pathEvents = pathEvents
        }
    }

    /// What a journal is given by whoever opens it.
    package struct Surroundings: Sendable {
        let boot: String
        let time: any TimeSource
        /// How long entries for which nobody waits gather.
        package var patience = Duration.milliseconds(500)
        /// How often a download's bytes are made durable.
        package var checkpointInterval = Duration.seconds(1)
        let onEvent: @Sendable (JournalEvent) -> Void
        let step: @Sendable (Step) -> Void

        /// `boot` names this boot of the machine; `onEvent` hears of every transaction, on the journal's thread, and
        /// `step` is called before and after each one with what is in it.
        package init(
            boot: String, time: any TimeSource, onEvent: @escaping @Sendable (JournalEvent) -> Void = { _ in },
            step: @escaping @Sendable (Step) -> Void = { _ in }
        ) {
            self.boot = boot
            self.time = time
            self.onEvent = onEvent
            self.step = step
        }
    }

    /// A moment of a transaction, and the kinds of entries in it.
    package enum Step: Sendable, Hashable {
        /// Nothing of it is durable yet.
        case willCommit(Set<String>)
        /// All of it is durable, and nobody has been told.
        case didCommit(Set<String>)
    }

    package let boot: String
    package let checkpointInterval: Duration
    /// How many tasks were not over when it was opened.
    package let unfinished: Int
    /// The SQLite file.
    let path: String
    private let lock: DirectoryLock
    private let thread: LoopThread<JournalWorker>

    /// True where a directory has a journal, in which tasks may wait.
    package static func exists(in directory: String) -> Bool { access(JournalFile.path(in: directory), F_OK) == 0 }

    /// Opens the journal of a directory, which is made where it is missing, and keeps others out.
    ///
    /// Blocks for the disk.
    /// - Throws: ``JournalProblem``; a damaged file is left as it is.
    package init(
        directory: String, retention: Retention = Retention(), surroundings: Surroundings
    ) throws(JournalProblem) {
        self.boot = surroundings.boot
        self.checkpointInterval = surroundings.checkpointInterval
        self.lock = try DirectoryLock(directory)
        let file = try JournalFile(directory: directory)
        self.path = file.path
        self.unfinished = try file.checkTasks()
        do {
            self.thread = try LoopThread(name: "tg-journal") { loop in
                JournalWorker(loop: loop, file: file, retention: retention, surroundings: surroundings)
            }
        } catch {
            throw .unusable(directory, "\(error)")
        }
    }

    /// Writes down what was asked for so far, and ends the thread; entries are refused from then on.
    package func close() {
        self.thread.stop()
        self.lock.release()
    }

    package func accept(
        _ task: JournaledTask, onDuplicate: DuplicatePolicy,
        completion: @escaping @Sendable (Result<Acceptance, JournalError>) -> Void
    ) {
        let isSent = self.thread.send(.write(.accept(task, onDuplicate, completion)))
        if !isSent { completion(.failure(.closed)) }
    }

    package func record(
        _ entry: JournalEntry, completion: @escaping @Sendable (Result<Void, JournalError>) -> Void
    ) {
        if !self.thread.send(.write(.entry(entry, completion))) { completion(.failure(.closed)) }
    }

    package func find(
        _ question: JournalQuestion,
        completion: @escaping @Sendable (Result<[JournaledTask], JournalError>) -> Void
    ) {
        if !self.thread.send(.find(question, completion)) { completion(.failure(.closed)) }
    }

    package func whenWritable(_ completion: @escaping @Sendable () -> Void) {
        // A journal that is closed will not be written again: nobody is left waiting for it.
        if !self.thread.send(.whenWritable(completion)) { completion() }
    }

    /// Keeps a change of a verdict; where it cannot be written it is lost.
    package func keep(_ event: PathEvent, sequence: UInt64, at time: WallTime) {
        self.thread.send(.write(.pathEvent(time, event.json(sequence: sequence, time: time).description)))
    }
}

extension JournalError {
    static let closed = JournalError(.closed, "the journal is closed")
}
