internal import Synchronization
public import TidegateCore
public import TidegateSession

/// Several tasks as one: their ends are waited for together, and their progress is one.
///
/// ```swift
/// let group = TransferGroup(requests.map { session.makeTask($0) })
/// group.resume()
/// for await progress in group.progress { show(progress.fraction) }
/// let results = await group.results()
/// ```
/// The tasks may be of several sessions. A group ends nothing: neither its tasks nor their sessions are over with it.
public final class TransferGroup: Sendable {
    private let members: Mutex<[TransferTask]>

    /// A group of tasks; more can be added.
    public init(_ tasks: [TransferTask] = []) { self.members = Mutex(tasks) }

    /// The tasks, in the order in which they were added.
    public var tasks: [TransferTask] { self.members.withLock { $0 } }

    /// Adds a task; one that is in the group already is not added twice.
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

    /// Waits until every task has ended, those that are added meanwhile included; gives their results in the tasks'
    /// order.
    ///
    /// Any number of readers; cancelling a reader does not end the tasks.
    public func results() async -> [TaskResult] {
        var results: [TaskResult] = []
        while true {
            let tasks = self.tasks
            guard results.count < tasks.count else { return results }
            for task in tasks[results.count...] { results.append(await task.result()) }
        }
    }

    /// How far the bodies of all tasks have come, now.
    public var currentProgress: GroupProgress { GroupProgress(of: self.tasks) }

    /// How far the bodies of all tasks have come, for one reader: first now, then after changes.
    ///
    /// Only the newest value is kept for a slow reader. Ends, after the last value, when every task that was in the group
    /// at its beginning has ended, or when the reading Swift task is cancelled.
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

/// How far the bodies of several tasks have come together, in bytes on the wire.
public struct GroupProgress: Sendable, Hashable {
    /// How many tasks there are.
    public var tasks = 0
    /// How many of them have ended, however.
    public var ended = 0
    /// Bytes of the responses' bodies that are here.
    public var received: Int64 = 0
    /// The responses' whole bodies; nil while one of them is unknown.
    public var expected: Int64? = 0
    /// Bytes of the requests' bodies that were sent.
    public var sent: Int64 = 0
    /// The requests' whole bodies; nil if one of them is unknown.
    public var expectedSent: Int64? = 0

    /// The share of the responses' bodies that is here, 0 to 1; nil while a length is unknown.
    public var fraction: Double? { TransferProgress.share(self.received, of: self.expected) }

    /// The share of the requests' bodies that was sent, 0 to 1; nil while a length is unknown.
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
        // Of a task that is over nothing more comes, whatever it had announced.
        self.ended += 1
        self.expected = TransferProgress.sum(self.expected, here)
        self.expectedSent = TransferProgress.sum(self.expectedSent, progress.sent)
    }
}
