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

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
