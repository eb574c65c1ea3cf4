package import TidegateCore
internal import TidegateLoop

/// What changed with one batch of messages, or with the connection to the kernel.
package struct NetlinkChanges: Sendable {
    /// What was received or lost, for the bus.
    package var events: [NetlinkEvent] = []
    /// Something may have changed: evaluate again.
    package var isDirty = false
    /// A link or an address was lost: evaluate without delay.
    package var isLoss = false
    /// Watched neighbours whose entries have changed, as they are now; removed ones have the state `none`.
    package var neighbours: [KernelNeighbour] = []
    /// ``NetlinkClient/state`` changed.
    package var isStateChanged = false
}

/// The client's own timers and watched descriptors on the loop of the netlink thread.
final class NetlinkTimers {
    enum Timer: UInt64 {
        case reconnect, resync, poll, storm, namespace, neighbours
    }

    // Tokens below belong to the loop's other handler.
    static let firstToken: UInt64 = 1 << 32

    let loop: Loop
    private var ids: [Timer: TimerID] = [:]

    init(loop: Loop) { self.loop = loop }

    func isScheduled(_ timer: Timer) -> Bool { self.ids[timer] != nil }

    /// Schedules a timer, which replaces the same timer if that is already scheduled.
    func schedule(_ timer: Timer, after delay: Duration) {
        self.cancel(timer)
        self.ids[timer] = self.loop.schedule(after: delay, token: NetlinkTimers.firstToken + timer.rawValue)
    }

    func cancel(_ timer: Timer) {
        if let id = self.ids.removeValue(forKey: timer) { self.loop.cancel(id) }
    }

    func cancelAll() {
        for id in self.ids.values { self.loop.cancel(id) }
        self.ids = [:]
    }

    /// The client's timer for a token that fired; nil if the token is not the client's.
    func didFire(_ token: UInt64) -> Timer? {
        guard token >= NetlinkTimers.firstToken, let timer = Timer(rawValue: token - NetlinkTimers.firstToken) else {
            return nil
        }
        self.ids[timer] = nil
        return timer
    }

    func watch(_ descriptor: Int32) throws(NetlinkError) {
        try Result { try self.loop.watch(descriptor, for: .read) }
            .mapError { NetlinkError(operation: "watching a netlink socket", text: "\($0)") }.get()
    }

    // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
    func unwatch(_ descriptor: Int32) { try? self.loop.unwatch(descriptor) }

    /// The delay before attempt `count`: doubled each time, up to `limit`.
    static func backoff(_ count: Int, from first: Duration, limit: Duration) -> Duration {
        min(limit, first * (1 << min(max(0, count - 1), 16)))
    }
}
