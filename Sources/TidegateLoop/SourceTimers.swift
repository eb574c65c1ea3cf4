internal import TidegateCore

/// The timers of a loop that follow another clock than the machine's.
///
/// Belongs to the loop's thread, like the loop.
final class SourceTimers {
    private let time: any TimeSource
    private var timers = TimerHeap()
    /// The clock's moment when the current batch of events began.
    private(set) var now: MonotonicTime

    init(_ time: any TimeSource) {
        self.time = time
        self.now = time.monotonic()
    }

    func updateNow() { self.now = self.time.monotonic() }

    func schedule(at deadline: MonotonicTime, token: UInt64) -> TimerID {
        self.timers.schedule(at: deadline, token: token)
    }

    func cancel(_ timer: TimerID) { self.timers.cancel(timer) }

    /// How long to wait for the earliest timer; nil if only a command or a jump of the clock can make one due.
    func timeToNext() -> Duration? {
        guard let next = self.timers.nextDeadline() else { return nil }
        let remaining = next - self.time.monotonic()
        return self.time is any MovableTimeSource && remaining > .zero ? nil : max(.zero, remaining)
    }

    func popDue() -> UInt64? { self.timers.popDue(at: self.now) }
}
