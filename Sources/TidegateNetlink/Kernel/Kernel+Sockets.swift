internal import TidegateLoop
internal import TidegateModel

// How the sockets are opened, read, and brought back.
extension Kernel {
    /// Opens the sockets and makes the first dump.
    func start() -> KernelNews {
        var news = KernelNews()
        self.connect(&news, reason: .startup)
        return news
    }

    func timerFired(_ timer: Timer) -> KernelNews {
        var news = KernelNews()
        self.timers[timer] = nil
        switch timer {
        case .reconnect: self.connect(&news, reason: .startup)
        case .resync: self.resync(&news, reason: self.interruptions > 0 ? .interrupted : .overrun)
        case .poll: self.poll(&news)
        case .storm: self.weather(.tick, &news)
        case .namespace: self.visitNamespace(&news)
        case .neighbours: self.startNeighbours(&news)
        }
        return news
    }

    private func poll(_ news: inout KernelNews) {
        self.polls += 1
        if self.polls % Kernel.pollsPerTry == 0, self.openMonitor(&news) == .event { self.setMode(.event, &news) }
        self.resync(&news, reason: .periodic)
        if self.monitor == nil, self.query != nil { self.arm(.poll, after: Kernel.pollInterval) }
    }

    /// Reads what the kernel has to say, in one batch; also where nothing announced it, to find a socket that died.
    package func readMonitor() -> KernelNews {
        var news = KernelNews()
        guard let monitor = self.monitor else { return news }
        var tally = Tally()
        var trouble: NetlinkSocket.Received?
        // Bounded, so that timers and commands get their turn in a storm; what is left wakes the thread again.
        for _ in 0..<2048 {
            let received = monitor.receive { self.take($0, &tally, &news) }
            if received == .datagram { continue }
            if received == .foreign {
                tally.malformed += 1
                continue
            }
            trouble = received == .nothing ? nil : received
            break
        }
        self.report(tally, &news)
        switch trouble {
        case .failed(let error): self.lose(error, &news)
        case .overrun, .truncated: self.overrun(&news)
        case .nothing, .datagram, .foreign, nil: if tally.isOverrun { self.overrun(&news) }
        }
        return news
    }

    private func lose(_ error: NetlinkError, _ news: inout KernelNews) {
        self.goBlind(error)
        news.events.append(.lost(error.description))
        news.isSightChanged = true
    }

    private struct Tally {
        var counts: [NetlinkEvent.MessageType: Int] = [:]
        var malformed = 0
        var isOverrun = false
    }

    private func take(_ envelope: KernelEnvelope, _ tally: inout Tally, _ news: inout KernelNews) {
        guard let message = envelope.message else {
            tally.malformed += 1
            return
        }
        if case .overrun = message { tally.isOverrun = true }
        if let type = message.multicastType { tally.counts[type, default: 0] += 1 }
        let change = self.tables.apply(message)
        if case .link(let link) = message { self.classify(link.index) }
        news.isDirty = news.isDirty || change != .none
        news.isLoss = news.isLoss || change == .loss
    }

    private func report(_ tally: Tally, _ news: inout KernelNews) {
        for (type, count) in tally.counts { news.events.append(.received(type, count: count)) }
        if tally.malformed > 0 { news.events.append(.malformed(count: tally.malformed)) }
        let routes = (tally.counts[.newroute] ?? 0) + (tally.counts[.delroute] ?? 0)
        if routes > 0 { self.weather(.routeMessages(routes), &news) }
    }

    // MARK: Connecting

    private func connect(_ news: inout KernelNews, reason: NetlinkEvent.ResyncReason) {
        self.disconnect()
        news.isSightChanged = true
        do throws(NetlinkError) {
            if let error = self.options.refusal(.query) { throw error }
            try self.enterNamespace()
            self.query = try QueryChannel(self.options)
            self.polls = 0
            let mode = self.openMonitor(&news)
            self.sight = .seeing(mode)
            self.resync(&news, reason: reason)
            guard case .seeing = self.sight else { return }
            self.failures = 0
            self.startNeighbours(&news)
            if reason == .startup { news.events.append(.modeChanged(mode)) }
            if mode == .poll { self.arm(.poll, after: Kernel.pollInterval) }
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
        if self.stay == nil { self.stay = try NamespaceStay.enter(path) }
        self.arm(.namespace, after: Kernel.namespaceInterval)
    }

    // No message tells that a namespace lost its name, because its sockets keep it alive.
    private func visitNamespace(_ news: inout KernelNews) {
        guard let stay = self.stay else { return }
        guard stay.isOver else { return self.arm(.namespace, after: Kernel.namespaceInterval) }
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
    private func openMonitor(_ news: inout KernelNews) -> ReachabilityStatus.Mode {
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

    private func noteReceiveBuffer(_ news: inout KernelNews) {
        let bytes = self.monitor?.receiveBufferBytes ?? 0
        guard bytes != self.health.receiveBufferBytes else { return }
        self.health.receiveBufferBytes = bytes
        news.events.append(.receiveBuffer(bytes: bytes))
    }

    // MARK: Dumping

    private static let immediateTries = 5

    /// Dumps everything into new tables.
    ///
    /// An interrupted dump is tried again, at once and then with a pause.
    func resync(_ news: inout KernelNews, reason: NetlinkEvent.ResyncReason) {
        let start = self.moment
        for attempt in 1...Kernel.immediateTries {
            guard let query = self.query else { return }
            switch query.dump() {
            case .failed(let error): return self.lose(error, &news)
            case .broken: return self.dumpBroke(&news)
            case .complete(let links, let addresses, let isInterrupted):
                if isInterrupted {
                    self.health.interruptedDumps += 1
                    news.events.append(.dumpInterrupted)
                    if attempt < Kernel.immediateTries { continue }
                }
                self.adopt(links, addresses, isComplete: !isInterrupted)
                news.events.append(.resynced(reason, duration: self.moment - start))
                news.isDirty = true
                return
            }
        }
    }

    // Lost answers are no reason to go blind: what was last known stays until a dump comes through.
    private func dumpBroke(_ news: inout KernelNews) {
        self.health.overruns += 1
        self.health.isConsistent = false
        news.events.append(.overrun)
        let error = NetlinkError(operation: "dumping links and addresses", text: "the answer was lost")
        guard !self.tables.links.isEmpty else { return self.lose(error, &news) }
        do throws(NetlinkError) {
            // The kernel still has the rest of the dump for the old socket.
            self.query = try QueryChannel(self.options)
        } catch {
            return self.lose(error, &news)
        }
        self.interruptions += 1
        self.arm(.resync, after: Kernel.backoff(self.interruptions, from: .milliseconds(50), limit: .seconds(1)))
    }

    private func adopt(_ links: [KernelLink], _ addresses: [KernelAddress], isComplete: Bool) {
        // An interrupted dump may have skipped anything, and what it skipped is not lost.
        if isComplete || self.tables.links.isEmpty {
            self.tables.replace(links: links, addresses: addresses)
        } else {
            self.tables.merge(links: links, addresses: addresses)
        }
        for link in links { self.classify(link.index) }
        self.isBehind = false
        self.health.resyncs += 1
        self.health.isConsistent = isComplete
        self.interruptions = isComplete ? 0 : self.interruptions + 1
        if !isComplete, !self.options.isOnce {
            self.arm(.resync, after: Kernel.backoff(self.interruptions, from: .milliseconds(50), limit: .seconds(1)))
        }
    }

    private func classify(_ index: UInt32) {
        guard let link = self.tables.link(index), link.kind == .other else { return }
        self.tables.classify(index, as: LinkClassifier.kind(of: link) { SystemFiles.facts(of: link) })
    }

    // MARK: Overruns and storms

    private static let largestBuffer = 64 << 20

    private func overrun(_ news: inout KernelNews) {
        self.health.overruns += 1
        self.health.isConsistent = false
        self.isBehind = true
        news.events.append(.overrun)
        guard let monitor = self.monitor else { return }
        // The kernel reports the loss first; what is still queued is older than the loss.
        if case .failed(let error) = monitor.drain() { return self.lose(error, &news) }
        // The kernel doubles what it is asked for, so asking for the effective size doubles it.
        monitor.setReceiveBuffer(min(Kernel.largestBuffer, max(4096, self.health.receiveBufferBytes)))
        self.noteReceiveBuffer(&news)
        self.weather(.overrun, &news)
        if self.timers[.resync] == nil {
            self.arm(.resync, after: self.storm.isStorm ? .milliseconds(250) : .milliseconds(50))
        }
    }

    private func weather(_ input: StormMachine.Input, _ news: inout KernelNews) {
        switch self.storm.handle(input, at: self.loop.now) {
        case .leaveRouteGroups:
            self.monitor?.leaveRoutes()
            self.setMode(.storm, &news)
            self.arm(.storm, after: StormMachine.quiet)
        case .joinRouteGroups:
            self.monitor?.joinRoutes()
            self.setMode(.event, &news)
            self.resync(&news, reason: .overrun)
        case nil: if self.storm.isStorm, input == .tick { self.arm(.storm, after: .seconds(1)) }
        }
    }

    private func setMode(_ mode: ReachabilityStatus.Mode, _ news: inout KernelNews) {
        guard self.sight != .seeing(mode), case .seeing = self.sight else { return }
        self.sight = .seeing(mode)
        news.events.append(.modeChanged(mode))
        news.isSightChanged = true
    }
}
