internal import Synchronization
internal import TidegateModel

/// The handles of a session's tasks: those under way, and those that ended lately.
final class TaskRegistry: Sendable {
    private struct State {
        var lastNumber: UInt64 = 0
        var live: [UInt64: TransferTask] = [:]
        var ended: [TransferTask] = []
        var oldestEnded = 0
        var isClosed = false
        var idleConnections = 0
        var isDiskStuck = false
    }

    private let kept: Int
    private let state = Mutex(State())

    init(keepingEnded kept: Int) { self.kept = kept }

    /// Puts a new task in; nil where the session is over.
    func add(_ make: (UInt64) -> TransferTask) -> TransferTask? {
        self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastNumber += 1
            let task = make(state.lastNumber)
            state.live[state.lastNumber] = task
            return task
        }
    }

    /// The task is over: it is kept for a while, in the place of the one that ended first.
    func end(_ task: TransferTask) {
        self.state.withLock { state in
            state.live[task.number] = nil
            guard self.kept > 0 else { return }
            if state.ended.count < self.kept {
                state.ended.append(task)
            } else {
                state.ended[state.oldestEnded] = task
                state.oldestEnded = (state.oldestEnded + 1) % self.kept
            }
        }
    }

    func note(idleConnections: Int) { self.state.withLock { $0.idleConnections = idleConnections } }

    var idleConnections: Int { self.state.withLock { $0.idleConnections } }

    /// The disk did not finish in the time that the session's end is given.
    func noteStuckDisk() { self.state.withLock { $0.isDiskStuck = true } }

    var isDiskStuck: Bool { self.state.withLock { $0.isDiskStuck } }

    func close() -> Bool {
        self.state.withLock { state in
            let wasOpen = !state.isClosed
            state.isClosed = true
            return wasOpen
        }
    }

    /// Every task that is known; the oldest first.
    var all: [TransferTask] {
        self.state.withLock { Array($0.live.values) + $0.ended }.sorted { $0.number < $1.number }
    }

    var live: [TransferTask] { self.state.withLock { Array($0.live.values) } }
}
