internal import Synchronization
public import TidegateCore

/// A task's state and progress as they change, read by one reader; ends after the entry that says completed.
///
/// Only the newest entry is kept: a slow reader skips what has been overtaken, and never the last one.
public final class TaskUpdates: AsyncSequence, Sendable {
    /// One entry of the task.
    public typealias Element = TaskInfo

    private let latest: LatestValue
    private let task: TransferTask

    init(of task: TransferTask) {
        self.task = task
        self.latest = task.shared.watch()
    }

    deinit { self.task.shared.unwatch(self.latest) }

    /// Reads the updates.
    public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }

    /// Reads updates; keeps them coming meanwhile.
    public struct Iterator: AsyncIteratorProtocol {
        let updates: TaskUpdates

        /// The newest entry that was not read yet; nil after the last one, or when the reading task is cancelled.
        public mutating func next() async -> TaskInfo? {
            await self.updates.latest.next().map(self.updates.task.info)
        }
    }
}

/// Keeps the newest snapshot for one reader.
final class LatestValue: Sendable {
    private struct State {
        var newest: TaskSnapshot?
        var isEnded = false
        var reader: CheckedContinuation<TaskSnapshot?, Never>?
    }

    private let state = Mutex(State())

    func offer(_ snapshot: TaskSnapshot) { self.put(snapshot, isLast: false) }

    func end(with snapshot: TaskSnapshot) { self.put(snapshot, isLast: true) }

    func next() async -> TaskSnapshot? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let answer = self.state.withLock { state -> TaskSnapshot?? in
                    if let newest = state.newest.take() { return .some(newest) }
                    if state.isEnded || state.reader != nil { return .some(nil) }
                    state.reader = reader
                    return nil
                }
                if let answer { reader.resume(returning: answer) }
            }
        } onCancel: {
            self.leave()
        }
    }

    private func put(_ snapshot: TaskSnapshot, isLast: Bool) {
        let reader = self.state.withLock { state -> CheckedContinuation<TaskSnapshot?, Never>? in
            guard !state.isEnded else { return nil }
            state.isEnded = isLast
            if let reader = state.reader.take() { return reader }
            state.newest = snapshot
            return nil
        }
        reader?.resume(returning: snapshot)
    }

    private func leave() {
        let reader = self.state.withLock { state in
            state.isEnded = true
            return state.reader.take()
        }
        reader?.resume(returning: nil)
    }
}
