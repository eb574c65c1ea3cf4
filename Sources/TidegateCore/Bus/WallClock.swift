internal import Synchronization

/// The wall clock between two readings: it is read once a millisecond, and carried on by the monotonic clock.
///
/// Reading two clocks for each event would be a third of what publishing costs. A wall clock that is set is noticed
/// with the next reading.
struct WallClock: ~Copyable {
    private let time: any TimeSource
    // When it was read last, in nanoseconds of the other clock, and how far it was ahead of that, in microseconds.
    // Before the first reading that is far from every moment.
    private let asked = Atomic<UInt64>(1 << 63)
    private let lead = Atomic<Int64>(0)

    private static let validity: UInt64 = 1_000_000

    init(_ time: any TimeSource) { self.time = time }

    /// The wall time of a moment that is now.
    func time(at moment: MonotonicTime) -> WallTime {
        // If another thread has read it in the meantime, the moment is before that: far away in this arithmetic.
        let elapsed = moment.nanoseconds &- self.asked.load(ordering: .acquiring)
        let microseconds = Int64(moment.nanoseconds / 1000)
        guard elapsed >= WallClock.validity else {
            return WallTime(microseconds: self.lead.load(ordering: .relaxed) + microseconds)
        }
        let wall = self.time.wall()
        self.lead.store(wall.microseconds - microseconds, ordering: .relaxed)
        self.asked.store(moment.nanoseconds, ordering: .releasing)
        return wall
    }
}
