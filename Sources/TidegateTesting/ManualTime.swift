internal import Synchronization
public import TidegateCore

/// Clocks that only move when a test moves them.
public final class ManualTime: TimeSource {
    private let elapsed = Mutex(Duration.zero)
    private let start: MonotonicTime
    private let wallStart: WallTime

    /// Clocks that start at the given moments.
    public init(
        monotonic: MonotonicTime = MonotonicTime(nanoseconds: 1_000_000_000_000),
        wall: WallTime = WallTime(microseconds: 1_790_000_000_000_000)
    ) {
        self.start = monotonic
        self.wallStart = wall
    }

    /// The time on the monotonic clock.
    public func monotonic() -> MonotonicTime { self.start + self.elapsed.withLock { $0 } }

    /// The time on the wall clock.
    public func wall() -> WallTime {
        let elapsed = self.elapsed.withLock { $0 }
        return WallTime(microseconds: self.wallStart.microseconds + elapsed.wholeNanoseconds / 1000)
    }

    /// Moves both clocks.
    public func advance(by duration: Duration) { self.elapsed.withLock { $0 += duration } }
}
