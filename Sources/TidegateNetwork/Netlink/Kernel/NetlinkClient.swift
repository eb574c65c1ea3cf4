internal import TidegateLoop
package import TidegateCore

/// The kernel's side of reachability: tables, lookups and the health of the sockets.
///
/// Belongs to one thread.
package final class NetlinkClient {
    /// Whether the kernel can be seen.
    package enum NetlinkState: Sendable, Hashable {
        /// Nothing was read yet.
        case starting
        /// The kernel cannot be read; why, in words.
        case unavailable(String)
        /// Tables and lookups are good.
        case connected(ReachabilityStatus.Mode)
    }

    enum Timer: UInt64 {
        case reconnect, resync, poll, storm, namespace, neighbours
    }

    // Timers below belong to the observer.
    static let firstTimer: UInt64 = 1 << 32
    static let namespaceInterval = Duration.seconds(1)
    static let pollInterval = Duration.seconds(2)
    // A refusal may have been a shortage; trying again costs little beside the dumps.
    static let pollsPerTry = 30

    let loop: Loop
    let options: NetlinkOptions
    var query: QueryChannel?
    var monitor: MonitorChannel?
    var storm = StormMachine()
    var timers: [Timer: TimerID] = [:]
    var failures = 0
    var interruptions = 0
    var polls = 0
    var stay: NetworkNamespaceGuard?
    var neighbours = NeighbourWatch()
    var slept: Duration
    package internal(set) var tables = KernelTables()
    package internal(set) var state = NetlinkState.starting
    package internal(set) var health = ReachabilityStatus.Health()
    /// True from a loss of messages to the next dump: the tables may be behind, so nothing should be judged by them.
    package internal(set) var isBehind = false

    init(loop: Loop, options: NetlinkOptions) {
        self.loop = loop
        self.options = options
        self.slept = options.slept()
    }

    /// The moment the current batch began.
    package var now: MonotonicTime { self.loop.now }

    /// The moment on the loop's clock, read now.
    package var moment: MonotonicTime { SystemClock().monotonic() }

    /// Schedules a timer of the observer's; `token` has to stay below 2³².
    package func schedule(at deadline: MonotonicTime, token: UInt64) -> NetlinkTimer {
        NetlinkTimer(id: self.loop.schedule(at: deadline, token: token % NetlinkClient.firstTimer))
    }

    /// Forgets a timer.
    package func cancel(_ timer: NetlinkTimer) { self.loop.cancel(timer.id) }

    /// Asks the kernel where packets would go, and hands over the answers with the questions' indexes, in order.
    ///
    /// False without a kernel to ask; then ``sight`` says why, and answers may be missing.
    package func lookUp(_ questions: ArraySlice<RouteQuestion>, _ body: (Int, RouteLookup) -> Void) -> Bool {
        guard let query = self.query else { return false }
        do throws(NetlinkError) {
            try query.lookUp(questions, body)
            return true
        } catch {
            self.goBlind(error)
            return false
        }
    }

    /// Drops both sockets and tries again later; what was last known stays, but counts for nothing.
    func goBlind(_ error: NetlinkError) {
        self.disconnect()
        self.state = .unavailable(error.description)
        self.health.isConsistent = false
        self.isBehind = false
        self.failures += 1
        guard !self.options.isOnce else { return }
        self.arm(.reconnect, after: NetlinkClient.backoff(self.failures, from: .milliseconds(100), limit: .seconds(30)))
    }

    func disconnect() {
        // The descriptor is closed with the channel; a failure to unwatch it leaves nothing behind.
        if let monitor = self.monitor { try? self.loop.unwatch(monitor.descriptor) }
        self.monitor = nil
        self.query = nil
        self.stopNeighbours()
        self.health.receiveBufferBytes = 0
        for timer in self.timers.values { self.loop.cancel(timer) }
        self.timers = [:]
    }

    func arm(_ timer: Timer, after delay: Duration) {
        if let old = self.timers[timer] { self.loop.cancel(old) }
        self.timers[timer] = self.loop.schedule(after: delay, token: NetlinkClient.firstTimer + timer.rawValue)
    }

    func disarm(_ timer: Timer) {
        if let old = self.timers.removeValue(forKey: timer) { self.loop.cancel(old) }
    }

    static func backoff(_ count: Int, from first: Duration, limit: Duration) -> Duration {
        min(limit, first * (1 << min(max(0, count - 1), 16)))
    }
}

/// A timer of the observer's; stays harmless after it fired.
package struct NetlinkTimer: Sendable {
    let id: TimerID
}
