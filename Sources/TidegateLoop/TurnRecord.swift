internal import Synchronization
internal import TidegateCore

/// Whether a ``LoopThread`` turns: written by the thread, read by any other.
package final class TurnRecord: Sendable {
    /// How long one turn may take before its thread is stalled.
    package static let limit = Duration.seconds(10)

    private let clock = SystemClock()
    // When the turn began; 0 while the thread waits for something to do.
    private let start: Atomic<UInt64>

    // The thread's start is its first turn.
    init() { self.start = Atomic(self.clock.monotonic().nanoseconds) }

    /// Whether the present turn has taken longer than the limit.
    package var isStalled: Bool { self.isStalled(at: self.clock.monotonic()) }

    func isStalled(at moment: MonotonicTime) -> Bool {
        let start = self.start.load(ordering: .relaxed)
        return start != 0 && moment >= MonotonicTime(nanoseconds: start) + TurnRecord.limit
    }

    func begin(at moment: MonotonicTime) { self.start.store(moment.nanoseconds, ordering: .relaxed) }

    func end() { self.start.store(0, ordering: .relaxed) }
}
