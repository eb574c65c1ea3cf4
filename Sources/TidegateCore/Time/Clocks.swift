/// A moment on a clock that never jumps; nanoseconds since some start, running on while the machine sleeps
/// (CLOCK_BOOTTIME, clock_gettime(2)).
public struct MonotonicTime: Sendable, Hashable, Comparable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: UInt64

    /// A moment `nanoseconds` after the clock's start.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// Orders moments.
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The moment `duration` later; saturates at both ends.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let delta = duration.wholeNanoseconds
        let moved =
            delta >= 0
            ? time.nanoseconds.addingReportingOverflow(UInt64(delta))
            : time.nanoseconds.subtractingReportingOverflow(delta.magnitude)
        guard moved.overflow else { return MonotonicTime(nanoseconds: moved.partialValue) }
        return MonotonicTime(nanoseconds: delta >= 0 ? .max : 0)
    }

    /// The moment `duration` earlier; saturates at both ends.
    package static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime { time + (.zero - duration) }

    /// How much later `end` is than `start`; negative if it is earlier.
    package static func - (end: MonotonicTime, start: MonotonicTime) -> Duration {
        end >= start
            ? .nanoseconds(Int64(clamping: end.nanoseconds - start.nanoseconds))
            : .nanoseconds(-Int64(clamping: start.nanoseconds - end.nanoseconds))
    }
}

/// A moment on the wall clock: microseconds since 1970-01-01T00:00:00Z.
public struct WallTime: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Microseconds since the epoch.
    public var microseconds: Int64

    /// A moment `microseconds` after the epoch.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// Seconds since the epoch, as Prometheus timestamps are written.
    public var seconds: Double { Double(self.microseconds) / 1_000_000 }

    /// Orders moments.
    public static func < (left: WallTime, right: WallTime) -> Bool { left.microseconds < right.microseconds }

    /// The moment `duration` later.
    package static func + (time: WallTime, duration: Duration) -> WallTime {
        WallTime(microseconds: time.microseconds &+ duration.wholeNanoseconds / 1000)
    }

    /// Moves the moment.
    package static func += (time: inout WallTime, duration: Duration) { time = time + duration }

    /// The time of day in UTC: `12:03:11`.
    package var clockTime: String { String(self.description.dropFirst(11).prefix(8)) }

    /// The time with its date, to the second: `2026-11-21 12:03:11 UTC`.
    package var dateAndTime: String {
        let text = self.description
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
    }

    /// The time from this moment to `now` in whole seconds, rounded down; zero if the moment is later.
    package func ago(at now: WallTime) -> Duration {
        .seconds(max(0, now.microseconds - self.microseconds) / 1_000_000)
    }

    /// RFC 3339 in UTC with milliseconds: `2026-11-20T23:14:22.123Z`.
    public var description: String {
        let milliseconds = self.microseconds.flooredDivision(by: 1000)
        let (days, rest) = (milliseconds.flooredDivision(by: 86_400_000), milliseconds.flooredRemainder(by: 86_400_000))
        let date = CivilDate(daysSince1970: days)
        func pad(_ number: Int64, _ width: Int) -> String { String(number).padded(to: width) }
        let day = "\(pad(date.year, 4))-\(pad(date.month, 2))-\(pad(date.day, 2))"
        let time = "\(pad(rest / 3_600_000, 2)):\(pad(rest / 60_000 % 60, 2)):\(pad(rest / 1000 % 60, 2))"
        return "\(day)T\(time).\(pad(rest % 1000, 3))Z"
    }
}

/// The two clocks of a monitor or a session: they stamp its events and drive the timers of its tasks.
///
/// Programs pass `SystemClock`, tests `ManualTime` of `TidegateTesting`. Any other source must run at the machine's
/// rate.
public protocol TimeSource: Sendable {
    /// The moment on the monotonic clock.
    func monotonic() -> MonotonicTime
    /// The moment on the wall clock.
    func wall() -> WallTime
}

/// A time source that stands still until it is moved.
package protocol MovableTimeSource: TimeSource {
    /// Calls `wake` after every move, until it returns false.
    func onMove(_ wake: @escaping @Sendable () -> Bool)
}

extension Duration {
    /// The duration in nanoseconds; saturates after 292 years.
    package var wholeNanoseconds: Int64 {
        // Shorter than nine seconds, as most are: one division, and no 128 bits.
        if let attoseconds = Int64(exactly: self.attoseconds) { return attoseconds / 1_000_000_000 }
        let (seconds, attoseconds) = self.components
        let scaled = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !scaled.overflow else { return seconds < 0 ? .min : .max }
        let sum = scaled.partialValue.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sum.overflow ? (seconds < 0 ? .min : .max) : sum.partialValue
    }

    /// The duration in seconds, as metrics and JSON give it.
    package var inSeconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }
}
