internal import TidegateCore

// Opening the sockets, on start and after a failure, and reading them.
extension NetlinkClient {
    /// Opens the sockets and makes the first dump.
    func start() -> NetlinkChanges {
        var changes = NetlinkChanges()
        self.connect(&changes)
        return changes
    }

    private func connect(_ changes: inout NetlinkChanges) {
        self.disconnect()
        changes.isStateChanged = true
        do throws(NetlinkError) {
            if let error = self.options.refusal(.query) { throw error }
            try self.enterNamespace()
            let query = try QueryChannel(self.options)
            self.query = query
            self.polls = 0
            let mode = self.openMonitor(&changes)
            self.state = .connected(mode)
            try self.synchronizer.resync(query, &changes, reason: .startup)
            self.failures = 0
            try self.neighbours.start(query, &changes)
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
        if self.namespace == nil { self.namespace = try NetworkNamespaceGuard.enter(path) }
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
            if let error = self.options.refusal(.monitor) { throw error }
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

    func timerFired(_ timer: NetlinkTimers.Timer) -> NetlinkChanges {
        var changes = NetlinkChanges()
        self.checkSuspend(&changes)
        switch timer {
        case .reconnect: self.connect(&changes)
        case .resync: self.resync(&changes, reason: self.synchronizer.isInterrupted ? .interrupted : .overrun)
        case .poll: self.poll(&changes)
        case .storm: self.handleOverload(.tick, &changes)
        case .namespace: self.checkNamespace(&changes)
        case .neighbours: self.withQuery(&changes, self.neighbours.start)
        }
        return changes
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
    func ready(_ descriptor: Int32) -> NetlinkChanges {
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
    func checkSuspend(_ changes: inout NetlinkChanges) {
        guard self.synchronizer.didSuspend(), !self.options.isOnce, case .connected = self.state else { return }
        self.resync(&changes, reason: .resume)
        self.withQuery(&changes, self.neighbours.refresh)
    }

    func resync(_ changes: inout NetlinkChanges, reason: NetlinkEvent.ResyncReason) {
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
}
