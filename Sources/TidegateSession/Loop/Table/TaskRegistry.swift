internal import Synchronization
internal import TidegateCore

/// The handles of a session's tasks: running ones and recently ended ones.
final class TaskRegistry: Sendable {
    /// A running task, and the handler to call on the session's thread when it ends.
    struct Entry: Sendable {
        let task: TransferTask
        let onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)?
        /// True if an earlier process left it.
        var isRestored = false
    }

    /// The maximum bytes of bodies held by recently ended tasks; beyond that the oldest are removed.
    static let bodyLimit = 16 << 20

    private typealias FinishedTask = (task: TransferTask, bytes: Int)

    private struct State {
        var lastNumber: UInt64 = 0
        /// The number of reserved tasks that are about to be added.
        var reserved = 0
        var live: [UInt64: Entry] = [:]
        /// A ring when it is full; nil entries are tasks removed early.
        var ended: [FinishedTask?] = []
        var oldestEnded = 0
        var endedBytes = 0
        var isClosed = false
        var counted = Counted()
        var isDiskStuck = false
        /// The number of tasks left by an earlier process, and how many of them remain.
        var restored = 0
        var restoredLeft = 0
        /// True if all of them have been counted.
        var isRestoreComplete = false

        mutating func keep(_ task: FinishedTask, atMost kept: Int) {
            guard kept > 0 else { return }
            if self.ended.count < kept {
                self.ended.append(task)
            } else {
                self.endedBytes -= self.ended[self.oldestEnded]?.bytes ?? 0
                self.ended[self.oldestEnded] = task
                self.oldestEnded = (self.oldestEnded + 1) % kept
            }
            self.endedBytes += task.bytes
            if self.endedBytes > TaskRegistry.bodyLimit { self.forgetBodies() }
        }

        private mutating func forgetBodies() {
            for step in self.ended.indices where self.endedBytes > TaskRegistry.bodyLimit {
                let position = (self.oldestEnded + step) % self.ended.count
                guard let bytes = self.ended[position]?.bytes, bytes > 0 else { continue }
                self.ended[position] = nil
                self.endedBytes -= bytes
            }
        }
    }

    private let kept: Int
    private let state = Mutex(State())

    init(keepingEnded kept: Int) { self.kept = kept }

    /// Reserves the number of a new task for ``add(_:onCompletion:)``; nil if the session has ended.
    func reserve() -> UInt64? {
        self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastNumber += 1
            state.reserved += 1
            return state.lastNumber
        }
    }

    /// Adds a task with a reserved number; false if the session was closed in the meantime.
    func add(
        _ task: TransferTask, onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)? = nil,
        isRestored: Bool = false
    ) -> Bool {
        self.state.withLock { state in
            state.reserved -= 1
            state.live[task.number] = Entry(task: task, onCompletion: onCompletion, isRestored: isRestored)
            if isRestored {
                state.restored += 1
                state.restoredLeft += 1
            }
            return !state.isClosed
        }
    }

    /// True if the task has not ended.
    func isLive(_ task: TransferTask) -> Bool { self.state.withLock { $0.live[task.number] != nil } }

    /// True if no task is live or about to be added.
    var isEmpty: Bool { self.state.withLock { $0.live.isEmpty && $0.reserved == 0 } }

    /// Ends a task: it is kept for a while, and replaces the one that ended first.
    ///
    /// `bytes` is the size of its body. Nil if the task has already ended, so that its end is published once.
    func end(_ task: TransferTask, holding bytes: Int = 0) -> Entry? {
        self.state.withLock { state in
            guard let entry = state.live.removeValue(forKey: task.number) else { return nil }
            state.keep((task, bytes), atMost: self.kept)
            return entry
        }
    }

    /// Counts a restored task whose end was published; returns the number of restored tasks after the last one.
    func restoredTaskEnded() -> Int? {
        self.state.withLock { state in
            state.restoredLeft -= 1
            return state.isRestoreComplete && state.restoredLeft == 0 ? state.restored : nil
        }
    }

    /// Records that all tasks of an earlier process were added; returns their number if all have already ended.
    func restored() -> Int? {
        self.state.withLock { state in
            guard !state.isRestoreComplete else { return nil }
            state.isRestoreComplete = true
            return state.restoredLeft == 0 ? state.restored : nil
        }
    }

    /// Ends every task; returns those that were live, oldest first.
    func endAll() -> [Entry] { self.live.sorted { $0.number < $1.number }.compactMap { self.end($0) } }

    /// Values that only the session's thread can count, from its last count.
    struct Counted: Sendable {
        var idleConnections = 0
        var retryTokens: [String: Double] = [:]
    }

    func note(_ counted: Counted) { self.state.withLock { $0.counted = counted } }

    var counted: Counted { self.state.withLock { $0.counted } }

    /// Records that the disk did not finish in the time allowed at the session's end.
    func noteStuckDisk() { self.state.withLock { $0.isDiskStuck = true } }

    var isDiskStuck: Bool { self.state.withLock { $0.isDiskStuck } }

    func close() -> Bool { self.state.withLock { !exchange(&$0.isClosed, with: true) } }

    /// Every known task, oldest first.
    var all: [TransferTask] {
        let known = self.state.withLock { $0.live.values.map(\.task) + $0.ended.compactMap { $0?.task } }
        return known.sorted { $0.number < $1.number }
    }

    func first(where isWanted: (TransferTask) -> Bool) -> TransferTask? {
        self.state.withLock { state in
            state.live.values.first { isWanted($0.task) }?.task
                ?? state.ended.first { $0.map { isWanted($0.task) } ?? false }??.task
        }
    }

    var live: [TransferTask] { self.state.withLock { $0.live.values.map(\.task) } }
}

extension SessionStatistics {
    /// A running task without a byte for this long counts as stalled.
    private static let stallTime = Duration.seconds(10)

    /// Counts handles.
    init(of tasks: [TransferTask], at now: MonotonicTime) {
        self.init()
        for task in tasks { self.add(task, at: now) }
    }

    private mutating func add(_ task: TransferTask, at now: MonotonicTime) {
        let (snapshot, held, lastByte) = task.shared.read { ($0.snapshot, $0.held, $0.lastByte) }
        let name = snapshot.state.name
        guard name != .completed else { return }
        self.tasks[name, default: 0] += 1
        if task.journaled != nil { self.journaled[name, default: 0] += 1 }
        for reason in held { self.held[reason, default: 0] += 1 }
        if held.contains(.path) || held.contains(.constraint) { self.gateWaiting += 1 }
        let start = snapshot.started ?? task.shared.created
        self.oldestStart[name] = min(self.oldestStart[name] ?? start, start)
        guard name == .running else { return }
        self.activeConnections += 1
        if let lastByte, now - lastByte > SessionStatistics.stallTime { self.stalled += 1 }
        if let expected = snapshot.progress.expectedSent, expected > 0 {
            self.expectedSentBytes[task.request.kind, default: 0].add(expected)
            self.sentBytes[task.request.kind, default: 0].add(snapshot.progress.sent)
        }
        guard let expected = snapshot.progress.expected else { return }
        self.expectedBytes[task.request.kind, default: 0].add(expected)
        self.transferredBytes[task.request.kind, default: 0].add(snapshot.progress.offset)
        self.transferredBytes[task.request.kind, default: 0].add(snapshot.progress.receivedWire)
    }
}

extension Int64 {
    // A server may claim any length, so the sum may overflow.
    fileprivate mutating func add(_ bytes: Int64) {
        let (sum, isTooMuch) = self.addingReportingOverflow(bytes)
        self = isTooMuch ? .max : sum
    }
}
