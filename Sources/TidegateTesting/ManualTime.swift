internal import Synchronization
public import TidegateCore

/// Clocks that only advance when a test advances them, together with the timers of every session that uses them.
///
/// Retries, deadlines and the timeouts of gates and attempts fire when ``advance(by:)`` passes them. The wire is not
/// affected: connect timeouts and rate limits follow the machine's clock.
public final class ManualTime: TimeSource {
    private let elapsed = Mutex(Duration.zero)
    private let waiting = Mutex<[@Sendable () -> Bool]>([])
    private let start: MonotonicTime
    private let wallStart: WallTime

    /// Clocks that start at the given times.
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

    /// Advances both clocks; timers that are now due fire on their threads.
    public func advance(by duration: Duration) {
        self.elapsed.withLock { $0 += duration }
        // Waking a thread only writes to a descriptor, and never calls back into this object.
        self.waiting.withLock { waiting in waiting.removeAll { wake in !wake() } }
    }
}

extension ManualTime: MovableTimeSource {
    package func onMove(_ wake: @escaping @Sendable () -> Bool) { self.waiting.withLock { $0.append(wake) } }
}
