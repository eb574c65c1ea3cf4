package import TidegateCore
package import TidegateLoop

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

    private static let namespaceInterval = Duration.seconds(1)
    private static let pollInterval = Duration.seconds(2)
    // Multicast may have been refused for lack of a resource; another attempt costs little compared to the dumps.
    private static let pollsPerAttempt = 30
    private static let largestBuffer = 64 << 20

    private let options: NetlinkOptions
    /// The loop of the thread that the client belongs to.
    package var loop: Loop { self.timers.loop }
    private let timers: NetlinkTimers
    private let synchronizer: TableSynchronizer
    private let neighbours: NeighbourObserver
    private var query: QueryChannel?
    private var monitor: MonitorChannel?
    private var storm = StormMachine()
    private var namespace: NetworkNamespaceGuard?
    private var failures = 0
    private var polls = 0
    package private(set) var state = NetlinkState.starting

    /// Creates a client that is not connected; call ``start()`` next.
    package init(loop: Loop, options: NetlinkOptions) {
        options.onThreadStart()
        self.options = options
        self.timers = NetlinkTimers(loop: loop)
        self.synchronizer = TableSynchronizer(options: options, timers: self.timers)
        self.neighbours = NeighbourObserver(options: options, timers: self.timers)
    }

    // MARK: For the handler of the loop

    /// Links and addresses as last reported.
    package var tables: KernelTables { self.synchronizer.tables }

    /// Counters and the consistency of the tables.
    package var health: ReachabilityStatus.Health { self.synchronizer.health }

    /// True from a loss of messages until the next dump: the tables may be out of date, so nothing should be decided on
    /// them.
    package var isBehind: Bool { self.synchronizer.isBehind }

    /// The time at which the current batch began.
    package var now: MonotonicTime { self.loop.now }

    /// The current time on the loop's clock.
    package var moment: MonotonicTime { SystemClock().monotonic() }

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

    /// Closes the sockets and schedules another attempt; the tables stay unchanged, but are no longer consistent.
    private func didDisconnect(_ error: NetlinkError) {
        self.disconnect()
        self.state = .unavailable(error.description)
        self.synchronizer.didDisconnect()
        self.failures += 1
        guard !self.options.isOnce else { return }
        self.timers.schedule(
            .reconnect, after: NetlinkTimers.backoff(self.failures, from: .milliseconds(100), limit: .seconds(30)))
    }

    private func didDisconnect(_ error: NetlinkError, _ changes: inout NetlinkChanges) {
        self.didDisconnect(error)
        changes.events.append(.lost(error.description))
        changes.isStateChanged = true
    }

    /// Closes the sockets and cancels the client's timers.
    package func disconnect() {
        if let monitor = self.monitor { self.timers.unwatch(monitor.descriptor) }
        self.monitor = nil
        self.query = nil
        self.neighbours.close()
        self.timers.cancelAll()
    }

    // MARK: Opening the sockets, on start and after a failure

    /// Opens the sockets and makes the first dump.
    package func start() -> NetlinkChanges {
        var changes = NetlinkChanges()
        self.connect(&changes)
        return changes
    }

    private func connect(_ changes: inout NetlinkChanges) {
        self.disconnect()
        changes.isStateChanged = true
        do throws(NetlinkError) {
            try self.enterNamespace()
            let query = try QueryChannel(self.options)
            self.query = query
            self.polls = 0
            let mode = self.openMonitor(&changes)
            self.state = .connected(mode)
            try self.synchronizer.resync(query, &changes, reason: .startup)
            try self.neighbours.start(query, &changes)
            self.failures = 0
            changes.events.append(.modeChanged(mode))
            if mode == .poll { self.timers.schedule(.poll, after: NetlinkClient.pollInterval) }
        } catch {
            self.didDisconnect(error, &changes)
        }
    }

    private func enterNamespace() throws(NetlinkError) {
        guard let path = self.options.namespace else { return }
        if let namespace = self.namespace, namespace.isDeleted {
            self.namespace = nil
            try namespace.leave()
        }
        if self.namespace == nil { self.namespace = try NetworkNamespaceGuard(entering: path) }
        self.timers.schedule(.namespace, after: NetlinkClient.namespaceInterval)
    }

    // No message reports that a namespace lost its name, because its sockets keep it alive.
    private func checkNamespace(_ changes: inout NetlinkChanges) {
        guard let namespace = self.namespace else { return }
        guard namespace.isDeleted else {
            return self.timers.schedule(.namespace, after: NetlinkClient.namespaceInterval)
        }
        self.namespace = nil
        // A namespace created later under the same name has other links.
        self.synchronizer.clear()
        do throws(NetlinkError) {
            try namespace.leave()
            throw NetlinkError(operation: "watching a namespace", text: "it was deleted")
        } catch {
            self.didDisconnect(error, &changes)
        }
    }

    /// Opens the multicast socket; without it, because the kernel or a sandbox refuses, the tables are polled.
    private func openMonitor(_ changes: inout NetlinkChanges) -> ReachabilityStatus.Mode {
        guard !self.options.isOnce else { return .once }
        do throws(NetlinkError) {
            let monitor = try MonitorChannel(self.options)
            try self.timers.watch(monitor.descriptor)
            self.monitor = monitor
            self.storm = StormMachine()
            self.synchronizer.didChangeReceiveBuffer(to: monitor.receiveBufferBytes, &changes)
            return .event
        } catch {
            return .poll
        }
    }

    // MARK: Reading

    /// Handles a timer that fired; `isOwn` is false if it is not one of the client's, whose tokens begin at 2³².
    package func timerFired(_ token: UInt64) -> (changes: NetlinkChanges, isOwn: Bool) {
        let timer = self.timers.didFire(token)
        var changes = NetlinkChanges()
        self.checkSuspend(&changes)
        guard let timer else { return (changes, false) }
        switch timer {
        case .reconnect: self.connect(&changes)
        case .resync: self.resync(&changes, reason: self.synchronizer.isInterrupted ? .interrupted : .overrun)
        case .poll: self.poll(&changes)
        case .storm: self.handleOverload(.tick, &changes)
        case .namespace: self.checkNamespace(&changes)
        case .neighbours: self.withQuery(&changes, self.neighbours.start)
        }
        return (changes, true)
    }

    private func poll(_ changes: inout NetlinkChanges) {
        self.polls += 1
        if self.polls % NetlinkClient.pollsPerAttempt == 0, self.openMonitor(&changes) == .event {
            self.setMode(.event, &changes)
        }
        self.resync(&changes, reason: .periodic)
        if self.monitor == nil, self.query != nil {
            self.timers.schedule(.poll, after: NetlinkClient.pollInterval)
        }
    }

    /// Reads the socket that became ready.
    package func ready(_ descriptor: Int32) -> NetlinkChanges {
        guard self.neighbours.owns(descriptor) else { return self.readMonitor() }
        var changes = NetlinkChanges()
        guard self.neighbours.read(&changes) else { return changes }
        self.synchronizer.countOverrun()
        self.withQuery(&changes, self.neighbours.refresh)
        return changes
    }

    /// Reads the multicast socket in one batch; a call without readiness finds out whether the socket still works.
    package func readMonitor() -> NetlinkChanges {
        var changes = NetlinkChanges()
        self.checkSuspend(&changes)
        guard let monitor = self.monitor else { return changes }
        let malformed = self.query?.takeMalformedCount() ?? 0
        let counters = self.synchronizer.read(monitor, malformed: malformed, &changes)
        let routes = counters.routeMessages
        if routes > 0 { self.handleOverload(.routeMessages(routes), &changes) }
        if let error = counters.error {
            self.didDisconnect(error, &changes)
        } else if counters.isOverrun {
            self.didOverrun(&changes)
        }
        return changes
    }

    /// Dumps everything if the machine was suspended: links went down and leases expired without a message.
    private func checkSuspend(_ changes: inout NetlinkChanges) {
        guard self.synchronizer.didSuspend(), !self.options.isOnce, case .connected = self.state else { return }
        self.resync(&changes, reason: .resume)
        self.withQuery(&changes, self.neighbours.refresh)
    }

    private func resync(_ changes: inout NetlinkChanges, reason: NetlinkEvent.ResyncReason) {
        self.withQuery(&changes) { query, changes throws(NetlinkError) in
            try self.synchronizer.resync(query, &changes, reason: reason)
        }
    }

    /// Runs requests; an error ends the connection and is reported.
    private func withQuery(
        _ changes: inout NetlinkChanges, _ body: (QueryChannel, inout NetlinkChanges) throws(NetlinkError) -> Void
    ) {
        guard let query = self.query else { return }
        do throws(NetlinkError) {
            try body(query, &changes)
        } catch {
            self.didDisconnect(error, &changes)
        }
    }

    // MARK: What happens when messages are lost, or arrive faster than they can be read

    private func didOverrun(_ changes: inout NetlinkChanges) {
        self.synchronizer.didOverrun(&changes)
        guard let monitor = self.monitor else { return }
        // The kernel reports the loss first; what is still queued is older than the loss.
        if case .failed(let error) = monitor.drain() { return self.didDisconnect(error, &changes) }
        // The kernel doubles the requested size, so requesting the effective size doubles it.
        monitor.setReceiveBuffer(min(NetlinkClient.largestBuffer, max(4096, self.health.receiveBufferBytes)))
        self.synchronizer.didChangeReceiveBuffer(to: monitor.receiveBufferBytes, &changes)
        self.handleOverload(.overrun, &changes)
        if !self.timers.isScheduled(.resync) {
            self.timers.schedule(.resync, after: self.storm.isStorm ? .milliseconds(250) : .milliseconds(50))
        }
    }

    private func handleOverload(_ input: StormMachine.Input, _ changes: inout NetlinkChanges) {
        switch self.storm.handle(input, at: self.now) {
        case .leaveRouteGroups:
            self.monitor?.leaveRoutes()
            self.setMode(.storm, &changes)
            self.timers.schedule(.storm, after: StormMachine.quiet)
        case .joinRouteGroups:
            self.monitor?.joinRoutes()
            self.setMode(.event, &changes)
            self.resync(&changes, reason: .overrun)
        case nil:
            if self.storm.isStorm, input == .tick { self.timers.schedule(.storm, after: .seconds(1)) }
        }
    }

    private func setMode(_ mode: ReachabilityStatus.Mode, _ changes: inout NetlinkChanges) {
        guard self.state != .connected(mode), case .connected = self.state else { return }
        self.state = .connected(mode)
        changes.events.append(.modeChanged(mode))
        changes.isStateChanged = true
    }
}
