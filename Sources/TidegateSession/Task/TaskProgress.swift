public import TidegateCore

/// The progress of one body of a task, bound to the task both ways.
///
/// Cancelling, pausing and resuming it act on the task. A value that costs nothing to make; Foundation's `Progress` is
/// not used because it traps on Linux if a total becomes 0.
public struct TaskProgress: Sendable {
    /// One of a task's two bodies.
    public enum Direction: String, Sendable, Hashable, CaseIterable {
        /// The response's body.
        case download
        /// The request's body.
        case upload
    }

    /// Which body it is.
    public let direction: Direction
    let task: TransferTask

    /// Bytes that have gone over the wire, including those before a resumed download's offset.
    ///
    /// Never falls within an attempt; the next attempt may begin lower.
    public var completed: Int64 {
        let progress = self.progress
        return self.direction == .upload ? progress.sent : progress.offset + progress.receivedWire
    }

    /// The whole body on the wire; nil while it is unknown.
    public var total: Int64? { self.direction == .upload ? self.progress.expectedSent : self.progress.expected }

    /// The share that has arrived, 0 to 1; nil while the total is unknown.
    public var fraction: Double? { self.direction == .upload ? self.progress.fractionSent : self.progress.fraction }

    /// Suspends the task; does nothing if a progress has already paused it.
    public func pause() { if self.task.shared.pauseByProgress(true) { self.task.suspend() } }

    /// Reverses ``pause()``; does nothing if no progress has the task paused.
    ///
    /// A suspension by the task's own ``TransferTask/suspend()`` stays.
    public func resume() { if self.task.shared.pauseByProgress(false) { self.task.resume() } }

    /// Cancels the task.
    public func cancel() { self.task.cancel() }

    private var progress: TransferProgress { self.task.shared.snapshot.progress }
}

/// A task's state and progress as they change, read by one reader; ends after the entry that says completed.
///
/// Only the newest entry is kept: a slow reader skips older entries, but never the last one.
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

    /// Reads updates, which keep coming while it exists.
    public struct Iterator: AsyncIteratorProtocol {
        let updates: TaskUpdates
        var snapshots: AsyncStream<TaskSnapshot>.Iterator

        /// The newest entry that was not read yet; nil after the last one, or when the reading task is cancelled.
        public mutating func next() async -> TaskInfo? {
            await self.snapshots.next().map(self.updates.task.info)
        }
    }
}
