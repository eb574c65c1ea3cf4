internal import TidegateCore

/// A task's journal entry, in one word of memory for the many tasks that have none.
final class JournalRef: Sendable {
    let task: JournaledTask

    init(_ task: JournaledTask) { self.task = task }
}
