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

        // Computed: every event is compared with them, and a stored static is initialised lazily.
        package static var read: Interest { Interest(rawValue: EPOLLIN.rawValue) }
        package static var write: Interest { Interest(rawValue: EPOLLOUT.rawValue) }
        package static var error: Interest { Interest(rawValue: EPOLLERR.rawValue) }
        package static var hangUp: Interest { Interest(rawValue: EPOLLHUP.rawValue) }
    }

    // Descriptor tokens are descriptors; these are tokens that no descriptor can have.
    static let inboxToken = UInt64.max
    static let timerToken = UInt64.max - 1

    /// The clock behind ``now``.
    package let clock = SystemClock()
    private let epoll: Int32
    private var bootTimer: BootTimeTimer
    private var timers = TimerHeap()
    // Nil if the time source is the machine's clock, as in every program but a test.
    private let source: (any TimeSource)?
    private var sourceTimers = TimerHeap()
    // Beside it, because a copy of an existential costs ten times what most of its readers do.
    private let hasSource: Bool
    // The time source's moment when the current batch of events began.
    private var sourceNow = MonotonicTime(nanoseconds: 0)
    // Atomic only because an atomic is read without a check for exclusive access, and it is read often.
    private let moment = Atomic<UInt64>(0)

    init(time: any TimeSource = SystemClock()) throws(LoopError) {
        let epoll = tg_epoll_create()
        guard epoll >= 0 else { throw LoopError(operation: "epoll_create1", code: errno) }
        self.epoll = epoll
        self.bootTimer = try BootTimeTimer()
        self.hasSource = !(time is SystemClock)
        self.source = self.hasSource ? time : nil
        self.updateNow()
        try self.control(EPOLL_CTL_ADD, self.bootTimer.descriptor, .read, token: Loop.timerToken)
    }

    deinit {
        self.bootTimer.close()
        close(self.epoll)
    }

    /// The moment the current batch of events began; cheap, and the same for everything in the batch.
    package var now: MonotonicTime { MonotonicTime(nanoseconds: self.moment.load(ordering: .relaxed)) }

    private func updateNow() {
        self.moment.store(self.clock.monotonic().nanoseconds, ordering: .relaxed)
        self.sourceNow = self.source?.monotonic() ?? self.now
    }

    /// Watches a descriptor; it must not be watched yet.
    package func watch(_ descriptor: Int32, for interest: Interest) throws(LoopError) {
        try self.control(EPOLL_CTL_ADD, descriptor, interest, token: UInt64(UInt32(bitPattern: descriptor)))
    }

    /// Changes what a watched descriptor is watched for.
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

    /// ``now`` on the time source that the thread was given.
    package var timeSourceNow: MonotonicTime { self.sourceNow }

    /// A moment of ``clock`` on the time source.
    package func onSource(_ moment: MonotonicTime) -> MonotonicTime {
        self.hasSource ? self.sourceNow + (moment - self.now) : moment
    }

    /// Schedules a timer on the time source.
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

    /// Waits for events and returns the ready descriptors' tokens with what they are ready for.
    ///
    /// If it may not block, it only takes what is ready.
    func wait(into buffer: inout [epoll_event], mayBlock: Bool) throws(LoopError) -> Int {
        // No timeout of epoll's: its clock stands still while the machine is suspended.
        let waits = mayBlock ? try self.armTimer() : false
        let count = buffer.withUnsafeMutableBufferPointer {
            epoll_wait(self.epoll, $0.baseAddress, Int32($0.count), waits ? -1 : 0)
        }
        self.updateNow()
        if count >= 0 { return Int(count) }
        let code = errno
        guard code == EINTR else { throw LoopError(operation: "epoll_wait", code: code) }
        return 0
    }

    /// Makes sure that the thread wakes for its next timer; false if that one is due now.
    ///
    /// Without timers there is no end to the wait.
    private func armTimer() throws(LoopError) -> Bool {
        var next = self.timers.nextDeadline()
        let time = self.clock.monotonic()
        if let other = self.timeToNextOfSource() { next = min(next ?? time + other, time + other) }
        guard let next else { return true }
        guard next > time else { return false }
        try self.bootTimer.arm(at: next)
        return true
    }

    /// How long to wait for the time source's earliest timer; nil if only a command or a jump of it can make one due.
    private func timeToNextOfSource() -> Duration? {
        guard let source = self.source, let next = self.sourceTimers.nextDeadline() else { return nil }
        let remaining = next - source.monotonic()
        return source is any MovableTimeSource && remaining > .zero ? nil : max(.zero, remaining)
    }

    /// The boot time timer's descriptor was ready.
    func bootTimerExpired() { self.bootTimer.expired() }

    func popDueTimer() -> UInt64? {
        self.timers.popDue(at: self.now) ?? (self.hasSource ? self.sourceTimers.popDue(at: self.sourceNow) : nil)
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ interest: Interest, token: UInt64
    ) throws(LoopError) {
        guard tg_epoll_control(self.epoll, operation, descriptor, interest.rawValue, token) == 0 else {
            throw LoopError(operation: "epoll_ctl", code: errno)
        }
    }
}

/// Wakes a loop at a moment of CLOCK_BOOTTIME, also when the machine was suspended meanwhile (timerfd_create(2)).
///
/// Moved only when it would expire too late: most deadlines are put off again and again, and one early wake-up costs less
/// than a system call for each of them.
struct BootTimeTimer {
    let descriptor: Int32
    private var armed: MonotonicTime?

    init() throws(LoopError) {
        let descriptor = tg_boot_timer()
        guard descriptor >= 0 else { throw LoopError(operation: "timerfd_create", code: errno) }
        self.descriptor = descriptor
    }

    /// Expires at `deadline` or before it.
    mutating func arm(at deadline: MonotonicTime) throws(LoopError) {
        if let armed = self.armed, armed <= deadline { return }
        // 0 would disarm it.
        guard tg_boot_timer_arm(self.descriptor, max(1, deadline.nanoseconds)) == 0 else {
            throw LoopError(operation: "timerfd_settime", code: errno)
        }
        self.armed = deadline
    }

    /// It has expired, and is not armed any more.
    mutating func expired() {
        var count: UInt64 = 0
        // EAGAIN is no error here: it may have been armed anew since the event.
        if read(self.descriptor, &count, 8) == 8 { self.armed = nil }
    }

    func close() { _ = Glibc.close(self.descriptor) }
}

/// A system call of the loop's failed.
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
        "\(self.operation): \(LoopError.text(of: self.code))"
    }

    /// What an error number means (strerror(3)).
    package static func text(of code: Int32) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
