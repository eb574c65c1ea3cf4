internal import Synchronization
internal import TidegateTransfer

/// The body of an answer that a module examines, in memory from the budget of all probes.
final class ExaminedBody: ChunkSink {
    private struct State {
        var bytes: [UInt8] = []
        /// How many bytes the budget has given.
        var room = 0
        var isWaiting = false
        var resume: @Sendable () -> Void = {}
    }

    /// No chunk is longer: libcurl's have 16 KiB, those of a decoder four times that.
    private static let longestChunk = 64 * 1024

    /// How many bytes the body may have.
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

    /// True if it ended while it waited for memory.
    var isWaiting: Bool { self.state.withLock { $0.isWaiting } }

    /// Takes what makes the transfer go on after it had to wait.
    func start(_ resume: @escaping @Sendable () -> Void) { self.state.withLock { $0.resume = resume } }

    /// The body is complete.
    func finish() { self.budget.settle(self.share) }

    /// Gives the memory back.
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
            // Doubled by the array itself, it would be larger than what was taken.
            if state.bytes.capacity < state.room { state.bytes.reserveCapacity(state.room) }
            state.bytes += chunk
        }
    }
}
