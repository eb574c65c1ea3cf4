internal import CLinux
internal import Glibc
internal import TidegateCore

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
