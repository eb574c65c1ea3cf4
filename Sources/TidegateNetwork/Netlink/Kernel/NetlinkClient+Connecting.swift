internal import TidegateLoop
internal import TidegateCore

// How the sockets are opened, and brought back.
extension NetlinkClient {
    func connect(_ news: inout NetlinkChanges, reason: NetlinkEvent.ResyncReason) {
        self.disconnect()
        news.isStateChanged = true
        do throws(NetlinkError) {
            if let error = self.options.refusal(.query) { throw error }
            try self.enterNamespace()
            self.query = try QueryChannel(self.options)
            self.polls = 0
            let mode = self.openMonitor(&news)
            self.state = .connected(mode)
            self.resync(&news, reason: reason)
            guard case .connected = self.state else { return }
            self.failures = 0
            self.startNeighbours(&news)
            if reason == .startup { news.events.append(.modeChanged(mode)) }
            if mode == .poll { self.arm(.poll, after: NetlinkClient.pollInterval) }
        } catch {
            self.lose(error, &news)
        }
    }

    private func enterNamespace() throws(NetlinkError) {
        guard let path = self.options.namespace else { return }
        if let stay = self.stay, stay.isOver {
            self.stay = nil
            try stay.leave()
        }
        if self.stay == nil { self.stay = try NetworkNamespaceGuard.enter(path) }
        self.arm(.namespace, after: NetlinkClient.namespaceInterval)
    }

    // No message tells that a namespace lost its name, because its sockets keep it alive.
    func visitNamespace(_ news: inout NetlinkChanges) {
        guard let stay = self.stay else { return }
        guard stay.isOver else { return self.arm(.namespace, after: NetlinkClient.namespaceInterval) }
        self.stay = nil
        // Whatever comes back under this name has other links.
        self.tables.replace(links: [], addresses: [])
        do throws(NetlinkError) {
            try stay.leave()
            self.lose(NetlinkError(operation: "watching a namespace", text: "it was deleted"), &news)
        } catch {
            self.lose(error, &news)
        }
    }

    // A kernel or sandbox that refuses multicast can still be asked.
    func openMonitor(_ news: inout NetlinkChanges) -> ReachabilityStatus.Mode {
        guard !self.options.isOnce else { return .once }
        do throws(NetlinkError) {
            if let error = self.options.refusal(.monitor) { throw error }
            let monitor = try MonitorChannel(self.options)
            try self.watch(monitor.descriptor)
            self.monitor = monitor
            self.storm = StormMachine()
            self.noteReceiveBuffer(&news)
            return .event
        } catch {
            return .poll
        }
    }

    func watch(_ descriptor: Int32) throws(NetlinkError) {
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: .read)
        } catch {
            throw NetlinkError(operation: "watching a netlink socket", text: error.description)
        }
    }

    func noteReceiveBuffer(_ news: inout NetlinkChanges) {
        let bytes = self.monitor?.receiveBufferBytes ?? 0
        guard bytes != self.health.receiveBufferBytes else { return }
        self.health.receiveBufferBytes = bytes
        news.events.append(.receiveBuffer(bytes: bytes))
    }
}
