public import TidegateCore

/// The progress of one body of a task.
///
/// Cancelling, pausing and resuming it act on the task. It is a value that costs nothing to create; Foundation's
/// `Progress` is not used because it traps on Linux if a total becomes 0.
public struct TaskProgress: Sendable {
    /// One of a task's two bodies.
    public enum Direction: String, Sendable, Hashable, CaseIterable {
        /// The response's body.
        case download
        /// The request's body.
        case upload
    }

    /// The body that this is the progress of.
    public let direction: Direction
    let task: TransferTask

    /// Bytes that have gone over the wire, including those before a resumed download's offset.
    ///
    /// It never decreases within an attempt; the next attempt may start lower.
    public var completed: Int64 {
        let progress = self.progress
        return self.direction == .upload ? progress.sent : progress.offset + progress.receivedWire
    }

    /// The whole body on the wire; nil while it is unknown.
    public var total: Int64? { self.direction == .upload ? self.progress.expectedSent : self.progress.expected }

    /// The share transferred so far, 0 to 1; nil while the total is unknown.
    public var fraction: Double? { self.direction == .upload ? self.progress.fractionSent : self.progress.fraction }

    /// Suspends the task; does nothing if a ``TaskProgress`` has already paused it.
    public func pause() { if self.task.shared.pauseByProgress(true) { self.task.suspend() } }

    /// Reverses ``pause()``; does nothing if no ``TaskProgress`` has paused the task.
    ///
    /// A suspension by ``TransferTask/suspend()`` stays.
    public func resume() { if self.task.shared.pauseByProgress(false) { self.task.resume() } }

    /// Cancels the task.
    public func cancel() { self.task.cancel() }

    private var progress: TransferProgress { self.task.shared.snapshot.progress }
}

/// A task's state and progress as they change, for one reader; ends after the entry with the completed state.
///
/// Only the newest entry is kept: a slow reader skips older entries, but never the last one.
public final class TaskUpdates: AsyncSequence, Sendable {
    /// The task's entry at one moment.
    public typealias Element = TaskInfo

    private let snapshots: AsyncStream<TaskSnapshot>
    private let source: AsyncStream<TaskSnapshot>.Continuation
    private let task: TransferTask

    init(of task: TransferTask) {
        self.task = task
        (self.snapshots, self.source) = task.shared.watch()
    }

    deinit { self.task.shared.unwatch(self.source) }

    /// Creates the reader of the updates.
    public func makeAsyncIterator() -> Iterator {
        Iterator(updates: self, snapshots: self.snapshots.makeAsyncIterator())
    }

    /// The reader of the updates, which keep coming while it exists.
    public struct Iterator: AsyncIteratorProtocol {
        let updates: TaskUpdates
        var snapshots: AsyncStream<TaskSnapshot>.Iterator

        /// The newest unread entry; nil after the last one, or when the reading task is cancelled.
        public mutating func next() async -> TaskInfo? {
            await self.snapshots.next().map(self.updates.task.info)
        }
    }
}
