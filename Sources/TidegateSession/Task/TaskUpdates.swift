public import TidegateCore

/// A task's state and progress as they change, read by one reader; ends after the entry that says completed.
///
/// Only the newest entry is kept: a slow reader skips what has been overtaken, and never the last one.
public final class TaskUpdates: AsyncSequence, Sendable {
    /// One entry of the task.
    public typealias Element = TaskInfo

    private let snapshots: AsyncStream<TaskSnapshot>
    private let source: AsyncStream<TaskSnapshot>.Continuation
    private let task: TransferTask

    init(of task: TransferTask) {
        self.task = task
        (self.snapshots, self.source) = task.shared.watch()
    }

    deinit { self.task.shared.unwatch(self.source) }

    /// Reads the updates.
    public func makeAsyncIterator() -> Iterator {
        Iterator(updates: self, snapshots: self.snapshots.makeAsyncIterator())
    }

    /// Reads updates; keeps them coming meanwhile.
    public struct Iterator: AsyncIteratorProtocol {
        let updates: TaskUpdates
        var snapshots: AsyncStream<TaskSnapshot>.Iterator

        /// The newest entry that was not read yet; nil after the last one, or when the reading task is cancelled.
        public mutating func next() async -> TaskInfo? {
            await self.snapshots.next().map(self.updates.task.info)
        }
    }
}
