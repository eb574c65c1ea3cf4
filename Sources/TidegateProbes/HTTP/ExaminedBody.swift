internal import Synchronization
internal import TidegateTransfer

/// A response body that a module examines, kept in memory from the budget shared by all probes.
final class ExaminedBody: ChunkSink {
    private struct State {
        var bytes: [UInt8] = []
        /// The number of bytes taken from the budget.
        var room = 0
        var isWaiting = false
        var resume: @Sendable () -> Void = {}
    }

    /// The maximum chunk size: libcurl's chunks have 16 KiB, and a decoder's four times that.
    private static let longestChunk = 64 * 1024

    /// The maximum size of the body in bytes.
    let limit: Int
    private let budget: ProbeBudget
    private let share: UInt64
    private let state = Mutex(State())

    init(limit: Int, budget: ProbeBudget) {
        self.limit = min(limit, budget.limit)
        self.budget = budget
        self.share = budget.open(most: self.limit)
    }

    var bytes: [UInt8] { self.state.withLock { $0.bytes } }

    /// True if the transfer ended while the body was waiting for memory.
    var isWaiting: Bool { self.state.withLock { $0.isWaiting } }

    /// Receives the function that resumes the transfer after a wait.
    func start(_ resume: @escaping @Sendable () -> Void) { self.state.withLock { $0.resume = resume } }

    /// Call this when the body is complete.
    func finish() { self.budget.settle(self.share) }

    /// Returns the memory to the budget.
    func release() {
        self.state.withLock { $0 = State() }
        self.budget.close(self.share)
    }

    func hasRoom() -> Bool {
        let (missing, resume) = self.state.withLock { state in
            let isEnough = state.room - state.bytes.count >= Self.longestChunk || state.room == self.limit
            let room = isEnough ? state.room : min(self.limit, max(Self.longestChunk, 2 * state.room))
            state.isWaiting = !isEnough
            return (room - state.room, state.resume)
        }
        guard missing > 0 else { return true }
        let isTaken = self.budget.take(missing, for: self.share) { [weak self] in
            self?.add(missing)
            resume()
        }
        if isTaken { self.add(missing) }
        return isTaken
    }

    private func add(_ count: Int) { self.state.withLock { ($0.room, $0.isWaiting) = ($0.room + count, false) } }

    func write(_ chunk: [UInt8]) {
        self.state.withLock { state in
            state.isWaiting = false
            // An array that grows by doubling would exceed the memory that was taken.
            if state.bytes.capacity < state.room { state.bytes.reserveCapacity(state.room) }
            state.bytes += chunk
        }
    }
}
