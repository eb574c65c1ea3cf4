internal import TidegateCore

/// Counts what happens in a second.
struct ObservationRate {
    /// What happened in a second.
    struct Second {
        let messages: Int
        let drops: Int
        /// Connections that the kernel opened or accepted.
        let opened: Int
    }

    // From here on messages are read together.
    private static let busyRate = 100

    private var messages = 0
    private var drops: UInt32 = 0
    private var opened: UInt64 = 0
    /// True if so many messages came in the last second that waiting for more saves time.
    private(set) var isBusy = false

    /// Messages were read.
    mutating func add(_ count: Int) { self.messages += count }

    /// A second has passed; `drops` are all drops so far.
    @discardableResult
    mutating func secondPassed(_ drops: UInt32, _ counters: TCPCounters?) -> Second {
        let opened = counters.map { $0.activeOpens + $0.passiveOpens } ?? 0
        let second = Second(
            messages: self.messages, drops: Int(self.newDrops(drops)), opened: Int(opened.growth(since: self.opened)))
        (self.messages, self.drops, self.opened) = (0, drops, opened)
        self.isBusy = second.messages > Self.busyRate
        return second
    }

    // The kernel's count ends with the socket; that it goes round takes far more than a second.
    private func newDrops(_ drops: UInt32) -> UInt32 {
        let new = drops &- self.drops
        return new > UInt32(Int32.max) ? drops : new
    }
}
