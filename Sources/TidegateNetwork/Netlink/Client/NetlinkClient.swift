internal import TidegateLoop
package import TidegateCore

/// The kernel's side of reachability: the sockets, and through them the tables, route lookups and neighbour entries.
///
/// Belongs to one thread.
package final class NetlinkClient {
    /// Whether the kernel can be read.
    package enum NetlinkState: Sendable, Hashable {
        /// Nothing was read yet.
        case starting
        /// The kernel cannot be read; the reason is an error's description.
        case unavailable(String)
        /// Tables and lookups are valid.
        case connected(ReachabilityStatus.Mode)
    }

    static let namespaceInterval = Duration.seconds(1)
    static let pollInterval = Duration.seconds(2)
    // Multicast may have been refused for lack of a resource; another attempt costs little compared to the dumps.
    static let pollsPerAttempt = 30

    let options: NetlinkOptions
    let timers: NetlinkTimers
    let synchronizer: TableSynchronizer
    let neighbours: NeighbourObserver
    var query: QueryChannel?
    var monitor: MonitorChannel?
    var storm = StormMachine()
    var namespace: NetworkNamespaceGuard?
    var failures = 0
    var polls = 0
    package internal(set) var state = NetlinkState.starting

    init(loop: Loop, options: NetlinkOptions) {
        self.options = options
        let timers = NetlinkTimers(loop: loop)
        self.timers = timers
        self.synchronizer = TableSynchronizer(options: options, timers: timers)
        self.neighbours = NeighbourObserver(options: options, timers: timers)
    }

    // MARK: For the delegate

    /// Links and addresses as last reported.
    package var tables: KernelTables { self.synchronizer.tables }

    /// Counters and the consistency of the tables.
    package var health: ReachabilityStatus.Health { self.synchronizer.health }

    /// True from a loss of messages until the next dump: the tables may be out of date, so nothing should be decided on
    /// them.
    package var isBehind: Bool { self.synchronizer.isBehind }

    /// The time at which the current batch began.
    package var now: MonotonicTime { self.timers.loop.now }

    /// The time on the loop's clock, read now.
    package var moment: MonotonicTime { SystemClock().monotonic() }

    /// Schedules a timer of the delegate's; `token` has to stay below 2³².
    package func schedule(at deadline: MonotonicTime, token: UInt64) -> NetlinkTimer {
        self.timers.schedule(at: deadline, token: token)
    }

    /// Cancels a timer of the delegate's.
    package func cancel(_ timer: NetlinkTimer) { self.timers.loop.cancel(timer.id) }

    /// Looks up where the kernel would send packets, and passes each answer with its question's index, in order.
    ///
    /// False if the kernel cannot be read; then ``state`` has the reason, and answers may be missing.
    package func lookUp(_ questions: ArraySlice<RouteQuestion>, _ body: (Int, RouteLookup) -> Void) -> Bool {
        self.withQuery { query throws(NetlinkError) in
            try query.lookUp(questions, body)
            return true
        } ?? false
    }

    /// Everything the kernel reports about where packets to an address go; nil if it cannot be read.
    package func explanation(of question: RouteQuestion) -> RouteExplanation? {
        var lookup: RouteLookup?
        guard self.lookUp([question], { lookup = $1 }), let lookup else { return nil }
        var explanation = RouteExplanation(question: question, lookup: lookup)
        let tables = self.tables
        explanation.names = tables.links.mapValues(\.name)
        _ = self.withQuery { query throws(NetlinkError) in
            try query.tolerateLostAnswers { () throws(QueryFailure) in
                try RouteExplainer(query: query, tables: tables).complete(&explanation)
            }
        }
        return explanation
    }

    /// Watches these entries of the neighbour tables and no others; changes arrive as ``NetlinkChanges/neighbours``.
    ///
    /// Only changes from now on are reported; ``explanation(of:)`` has the present state.
    package func watchNeighbours(_ keys: Set<NeighbourKey>) {
        do throws(NetlinkError) {
            try self.neighbours.watch(keys, query: self.query)
        } catch {
            self.didDisconnect(error)
        }
    }

    // MARK: Failures

    /// Runs requests; an error means that the socket is unusable, and ends the connection.
    func withQuery<Result>(_ body: (QueryChannel) throws(NetlinkError) -> Result) -> Result? {
        guard let query = self.query else { return nil }
        do throws(NetlinkError) {
            return try body(query)
        } catch {
            self.didDisconnect(error)
            return nil
        }
    }

    /// Closes the sockets and schedules another attempt; the tables stay as they were, and are not consistent any more.
    func didDisconnect(_ error: NetlinkError) {
        self.disconnect()
        self.state = .unavailable(error.description)
        self.synchronizer.didDisconnect()
        self.failures += 1
        guard !self.options.isOnce else { return }
        self.timers.schedule(
            .reconnect, after: NetlinkTimers.backoff(self.failures, from: .milliseconds(100), limit: .seconds(30)))
    }

    func didDisconnect(_ error: NetlinkError, _ changes: inout NetlinkChanges) {
        self.didDisconnect(error)
        changes.events.append(.lost(error.description))
        changes.isStateChanged = true
    }

    /// Closes the sockets and cancels the client's timers.
    func disconnect() {
        if let monitor = self.monitor { self.timers.unwatch(monitor.descriptor) }
        self.monitor = nil
        self.query = nil
        self.neighbours.close()
        self.timers.cancelAll()
    }
}

/// A timer of the delegate's; cancelling it after it fired does nothing.
package struct NetlinkTimer: Sendable {
    let id: TimerID
}
