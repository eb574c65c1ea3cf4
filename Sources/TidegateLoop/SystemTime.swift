internal import CLinux
internal import Glibc
package import TidegateCore

/// The machine's clocks (clock_gettime(2)).
package struct SystemTime: TimeSource {
    package init() {}

    package func monotonic() -> MonotonicTime {
        let time = SystemTime.read(CLOCK_BOOTTIME)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    package func wall() -> WallTime {
        let time = SystemTime.read(CLOCK_REALTIME)
        return WallTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
