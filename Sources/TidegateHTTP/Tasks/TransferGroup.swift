internal import Synchronization
public import TidegateCore
public import TidegateSession

/// Combines several tasks: waits for all of them, and adds up their progress.
///
/// ```swift
/// let group = TransferGroup(requests.map { session.makeTask($0) })
/// group.resume()
/// for await progress in group.progress { show(progress.fraction) }
/// let results = await group.results()
/// ```
/// The tasks may belong to several sessions. Releasing a group ends neither its tasks nor their sessions.
public final class TransferGroup: Sendable {
    private let members: Mutex<[TransferTask]>

    /// A group of tasks; more can be added later.
    public init(_ tasks: [TransferTask] = []) { self.members = Mutex(tasks) }

    /// The tasks in the order of addition.
    public var tasks: [TransferTask] { self.members.withLock { $0 } }

    /// Adds a task; a task that is already in the group is not added again.
    public func add(_ task: TransferTask) {
        self.members.withLock { tasks in
            if !tasks.contains(where: { $0 === task }) { tasks.append(task) }
        }
    }

    /// Resumes every task, as ``TransferTask/resume()`` does.
    public func resume() { for task in self.tasks { task.resume() } }

    /// Suspends every task, as ``TransferTask/suspend()`` does.
    public func suspend() { for task in self.tasks { task.suspend() } }

    /// Cancels every task, as ``TransferTask/cancel()`` does.
    public func cancel() { for task in self.tasks { task.cancel() } }

    /// Waits until every task has ended, including tasks added in the meantime; returns their results in order.
    ///
    /// Supports any number of readers. Cancelling a reader does not end the tasks.
    public func results() async -> [TaskResult] {
        var results: [TaskResult] = []
        while true {
            let tasks = self.tasks
            guard results.count < tasks.count else { return results }
            for task in tasks[results.count...] { results.append(await task.result()) }
        }
    }

    /// The current progress of the bodies of all tasks.
    public var currentProgress: GroupProgress { GroupProgress(of: self.tasks) }

    /// The progress of the bodies of all tasks, for one reader: the current value first, then every change.
    ///
    /// A slow reader gets only the newest value. The stream ends after its last value when every task that was in the
    /// group at its start has ended, or when the reading Swift task is cancelled.
    public var progress: AsyncStream<GroupProgress> {
        let tasks = self.tasks
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let reading = Task {
                await withTaskGroup(of: Void.self) { group in
                    for task in tasks {
                        group.addTask {
                            for await _ in task.updates() { continuation.yield(self.currentProgress) }
                        }
                    }
                }
                continuation.yield(self.currentProgress)
                continuation.finish()
            }
            continuation.onTermination = { _ in reading.cancel() }
        }
    }
}

/// The combined progress of several tasks' bodies, in bytes on the wire.
public struct GroupProgress: Sendable, Hashable {
    /// The number of tasks.
    public var tasks = 0
    /// The number of ended tasks, whatever their result.
    public var ended = 0
    /// The received bytes of response bodies.
    public var received: Int64 = 0
    /// The total size of the response bodies; nil while any of them is unknown.
    public var expected: Int64? = 0
    /// The sent bytes of request bodies.
    public var sent: Int64 = 0
    /// The total size of the request bodies; nil if any of them is unknown.
    public var expectedSent: Int64? = 0

    /// The received share of the response bodies, 0 to 1; nil while a length is unknown.
    public var fraction: Double? { TransferProgress.share(self.received, of: self.expected) }

    /// The sent share of the request bodies, 0 to 1; nil while a length is unknown.
    public var fractionSent: Double? { TransferProgress.share(self.sent, of: self.expectedSent) }

    init(of tasks: [TransferTask]) {
        self.tasks = tasks.count
        for task in tasks { self.add(task.info) }
    }

    private mutating func add(_ task: TaskInfo) {
        let progress = task.progress
        let here = progress.offset + progress.receivedWire
        self.received += here
        self.sent += progress.sent
        guard case .completed = task.state else {
            self.expected = TransferProgress.sum(self.expected, progress.expected)
            self.expectedSent = TransferProgress.sum(self.expectedSent, progress.expectedSent)
            return
        }
        // A finished task receives nothing more, whatever length it announced.
        self.ended += 1
        self.expected = TransferProgress.sum(self.expected, here)
        self.expectedSent = TransferProgress.sum(self.expectedSent, progress.sent)
    }
}
