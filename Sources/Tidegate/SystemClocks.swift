internal import TidegateLoop
public import TidegateCore

/// The machine's clocks: CLOCK_BOOTTIME and CLOCK_REALTIME (clock_gettime(2)).
public struct SystemClocks: TimeSource {
    private let time = SystemTime()

    /// The machine's clocks.
    public init() {}

    /// The moment on the clock that never jumps.
    public func monotonic() -> MonotonicTime { self.time.monotonic() }

    /// The moment on the wall clock.
    public func wall() -> WallTime { self.time.wall() }
}
