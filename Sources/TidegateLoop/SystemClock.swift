internal import CLinux
internal import Glibc
public import TidegateCore

/// The machine's clocks: CLOCK_BOOTTIME and CLOCK_REALTIME (clock_gettime(2)).
public struct SystemClock: TimeSource {
    /// The machine's clocks.
    public init() {}

    /// The moment on the clock that never jumps.
    public func monotonic() -> MonotonicTime {
        let time = SystemClock.read(CLOCK_BOOTTIME)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    /// The moment on the wall clock.
    public func wall() -> WallTime {
        let time = SystemClock.read(CLOCK_REALTIME)
        return WallTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// How long the machine has been suspended since boot: CLOCK_BOOTTIME includes that time, CLOCK_MONOTONIC does not.
    package static func suspended() -> Duration {
        let awake = self.read(CLOCK_MONOTONIC)
        let all = self.read(CLOCK_BOOTTIME)
        return .seconds(all.tv_sec - awake.tv_sec) + .nanoseconds(all.tv_nsec - awake.tv_nsec)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
