internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore

/// A thread's descriptors and timers.
///
/// Belongs to the thread of a ``LoopThread`` and never leaves it.
package final class Loop {
    /// What a descriptor is watched for (epoll_ctl(2)).
    ///
    /// Hang-up and error are always reported.
    package struct Interest: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        // Computed, because every event is compared with them and a stored static is initialised lazily.
        package static var read: Interest { Interest(rawValue: EPOLLIN.rawValue) }
        package static var write: Interest { Interest(rawValue: EPOLLOUT.rawValue) }
        package static var error: Interest { Interest(rawValue: EPOLLERR.rawValue) }
        package static var hangUp: Interest { Interest(rawValue: EPOLLHUP.rawValue) }
    }

    // Descriptors are their own tokens; no descriptor can have these two values.
    static let inboxToken = UInt64.max
    static let timerToken = UInt64.max - 1

    /// The clock behind ``now``.
    package let clock = SystemClock()
    private let epoll: Int32
    private var bootTimer: BootTimeTimer
    private var timers = TimerHeap()
    // Nil for the machine's clock; only tests use another time source.
    private let source: (any TimeSource)?
    private var sourceTimers = TimerHeap()
    // Stored separately, because copying the existential costs ten times more than most reads do.
    private let hasSource: Bool
    // The time source's moment at the start of the current batch of events.
    private var sourceNow = MonotonicTime(nanoseconds: 0)
    // Atomic only because atomics are read without an exclusivity check, and this is read often.
    private let moment = Atomic<UInt64>(0)
    /// In how many batches in a row late timers have waited for the descriptors, and since when.
    private var deferrals = 0
    private var deferredSince = MonotonicTime(nanoseconds: 0)
    /// True once they have waited enough, until no timer is late any more.
    private var isDeferralSpent = false

    /// Later than this, a timer shows that the thread did not run: its process was stopped, or it was busy.
    private static let lateness = Duration.milliseconds(100)
    // Descriptors that are ready all the time must not hold up the timers.
    private static let mostDeferrals = 64
    private static let longestDeferral = Duration.milliseconds(250)

    init(time: any TimeSource = SystemClock()) throws(LoopError) {
        let epoll = DescriptorShortage.bounded(tg_epoll_create(), .thread)
        guard epoll >= 0 else { throw LoopError(operation: "epoll_create1", code: errno) }
        self.epoll = epoll
        do throws(LoopError) { self.bootTimer = try BootTimeTimer() } catch {
            close(epoll)
            throw error
        }
        self.hasSource = !(time is SystemClock)
        self.source = self.hasSource ? time : nil
        self.updateNow()
        try self.control(EPOLL_CTL_ADD, self.bootTimer.descriptor, .read, token: Loop.timerToken)
    }

    deinit {
        self.bootTimer.close()
        close(self.epoll)
    }

    /// The start of the current batch of events; cheap to read, and the same for every event of the batch.
    package var now: MonotonicTime { MonotonicTime(nanoseconds: self.moment.load(ordering: .relaxed)) }

    private func updateNow() {
        self.moment.store(self.clock.monotonic().nanoseconds, ordering: .relaxed)
        self.sourceNow = self.source?.monotonic() ?? self.now
    }

    /// Watches a descriptor; it must not be watched yet.
    package func watch(_ descriptor: Int32, for interest: Interest) throws(LoopError) {
        try self.control(EPOLL_CTL_ADD, descriptor, interest, token: UInt64(UInt32(bitPattern: descriptor)))
    }

    /// Changes the events that a watched descriptor is watched for.
    package func change(_ descriptor: Int32, to interest: Interest) throws(LoopError) {
        try self.control(EPOLL_CTL_MOD, descriptor, interest, token: UInt64(UInt32(bitPattern: descriptor)))
    }

    /// Stops watching a descriptor.
    package func unwatch(_ descriptor: Int32) throws(LoopError) {
        try self.control(EPOLL_CTL_DEL, descriptor, [], token: 0)
    }

    /// Schedules a timer; `token` comes back in ``LoopHandler/timerFired(_:)``.
    package func schedule(at deadline: MonotonicTime, token: UInt64) -> TimerID {
        self.timers.schedule(at: deadline, token: token)
    }

    /// Schedules a timer that fires `delay` after the current batch began.
    package func schedule(after delay: Duration, token: UInt64) -> TimerID {
        self.timers.schedule(at: self.now + delay, token: token)
    }

    /// Cancels a timer.
    package func cancel(_ timer: TimerID) { self.timers.cancel(timer) }

    // MARK: - The time source

    /// ``now`` on the thread's time source.
    package var timeSourceNow: MonotonicTime { self.sourceNow }

    /// Converts a moment of ``clock`` to the time source.
    package func onSource(_ moment: MonotonicTime) -> MonotonicTime {
        self.hasSource ? self.sourceNow + (moment - self.now) : moment
    }

    /// Schedules a timer on the time source; its token is reported like that of any other timer.
    package func scheduleOnTimeSource(at deadline: MonotonicTime, token: UInt64) -> TimerID {
        self.hasSource
            ? self.sourceTimers.schedule(at: deadline, token: token) : self.schedule(at: deadline, token: token)
    }

    /// Cancels a timer of the time source.
    package func cancelOnTimeSource(_ timer: TimerID) {
        if self.hasSource { self.sourceTimers.cancel(timer) } else { self.cancel(timer) }
    }

    // MARK: - Waiting

    func watchInbox(_ descriptor: Int32) throws(LoopError) {
        try self.control(EPOLL_CTL_ADD, descriptor, .read, token: Loop.inboxToken)
    }

    /// Waits for events and returns the tokens of the ready descriptors with their events.
    ///
    /// Without `mayBlock` it only collects what is ready already.
    func wait(into buffer: inout [epoll_event], mayBlock: Bool) throws(LoopError) -> Int {
        // epoll's own timeout is not used: its clock stops while the machine is suspended.
        let waits = mayBlock ? try self.armTimer() : false
        let count = buffer.withUnsafeMutableBufferPointer {
            epoll_wait(self.epoll, $0.baseAddress, Int32($0.count), waits ? -1 : 0)
        }
        let code = errno
        self.updateNow()
        self.deferLateTimers(isIdle: count == 0)
        if count >= 0 { return Int(count) }
        guard code == EINTR else { throw LoopError(operation: "epoll_wait", code: code) }
        return 0
    }

    // While the thread did not run (SIGSTOP, a frozen cgroup), data may have arrived that a late timer would miss: it
    // waits until no descriptor is ready. An interrupted wait (EINTR) has not looked.
    private func deferLateTimers(isIdle: Bool) {
        guard !isIdle, let next = self.timers.nextDeadline(), self.now - next > Loop.lateness else {
            return (self.deferrals, self.isDeferralSpent) = (0, false)
        }
        if self.deferrals == 0 { self.deferredSince = self.now }
        if self.deferrals == Loop.mostDeferrals || self.now - self.deferredSince > Loop.longestDeferral {
            self.isDeferralSpent = true
        }
        self.deferrals = self.isDeferralSpent ? 0 : self.deferrals + 1
    }

    /// Makes sure that the thread wakes for its next timer; false if that timer is due now.
    ///
    /// Without timers the wait has no limit.
    private func armTimer() throws(LoopError) -> Bool {
        var next = self.timers.nextDeadline()
        let time = self.clock.monotonic()
        if let other = self.timeToNextOfSource() { next = min(next ?? time + other, time + other) }
        guard let next else { return true }
        guard next > time else { return false }
        try self.bootTimer.arm(at: next)
        return true
    }

    /// The time until the time source's earliest timer; nil if only a command or a jump of the source can make one due.
    private func timeToNextOfSource() -> Duration? {
        guard let source = self.source, let next = self.sourceTimers.nextDeadline() else { return nil }
        let remaining = next - source.monotonic()
        return source is any MovableTimeSource && remaining > .zero ? nil : max(.zero, remaining)
    }

    /// Handles the expiry of the boot time timer.
    func bootTimerExpired() { self.bootTimer.expired() }

    func popDueTimer() -> UInt64? {
        guard self.deferrals == 0 else { return nil }
        return self.timers.popDue(at: self.now) ?? (self.hasSource ? self.sourceTimers.popDue(at: self.sourceNow) : nil)
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ interest: Interest, token: UInt64
    ) throws(LoopError) {
        guard tg_epoll_control(self.epoll, operation, descriptor, interest.rawValue, token) == 0 else {
            throw LoopError(operation: "epoll_ctl", code: errno)
        }
    }
}

/// Wakes a loop at a moment of CLOCK_BOOTTIME, even if the machine was suspended before it (timerfd_create(2)).
///
/// The timer is rearmed only if it would expire too late. Most deadlines are postponed again and again, and one early
/// wake-up costs less than a system call for each postponement.
struct BootTimeTimer {
    let descriptor: Int32
    private var armed: MonotonicTime?

    init() throws(LoopError) {
        let descriptor = DescriptorShortage.bounded(tg_boot_timer(), .thread)
        guard descriptor >= 0 else { throw LoopError(operation: "timerfd_create", code: errno) }
        self.descriptor = descriptor
    }

    /// Makes the timer expire at `deadline` or earlier.
    mutating func arm(at deadline: MonotonicTime) throws(LoopError) {
        if let armed = self.armed, armed <= deadline { return }
        // 0 would disarm the timer.
        guard tg_boot_timer_arm(self.descriptor, max(1, deadline.nanoseconds)) == 0 else {
            throw LoopError(operation: "timerfd_settime", code: errno)
        }
        self.armed = deadline
    }

    /// Records that the timer has expired and is no longer armed.
    mutating func expired() {
        var count: UInt64 = 0
        // EAGAIN is not an error here: the timer may have been rearmed since the event.
        if read(self.descriptor, &count, 8) == 8 { self.armed = nil }
    }

    func close() { _ = Glibc.close(self.descriptor) }
}

/// A failed system call of the loop.
package struct LoopError: Error, Sendable, CustomStringConvertible {
    /// The call, as its man page names it.
    package let operation: String
    /// The error number (errno(3)).
    package let code: Int32

    package init(operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    package var description: String {
        "\(self.operation): \(SystemError.message(self.code))"
    }
}
