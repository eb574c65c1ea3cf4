internal import TidegateCore

// How the socket that listens is read.
extension NetlinkClient {
    /// Opens the sockets and makes the first dump.
    func start() -> NetlinkChanges {
        var news = NetlinkChanges()
        self.connect(&news, reason: .startup)
        return news
    }

    func timerFired(_ timer: Timer) -> NetlinkChanges {
        var news = NetlinkChanges()
        self.timers[timer] = nil
        self.noticeSleep(&news)
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

    private func poll(_ news: inout NetlinkChanges) {
        self.polls += 1
        if self.polls % NetlinkClient.pollsPerTry == 0, self.openMonitor(&news) == .event {
            self.setMode(.event, &news)
        }
        self.resync(&news, reason: .periodic)
        if self.monitor == nil, self.query != nil { self.arm(.poll, after: NetlinkClient.pollInterval) }
    }

    /// Reads what the kernel has to say, in one batch; also where nothing announced it, to find a socket that died.
    package func readMonitor() -> NetlinkChanges {
        var news = NetlinkChanges()
        self.noticeSleep(&news)
        guard let monitor = self.monitor else { return news }
        var tally = Tally(malformed: self.query?.takeNonsense() ?? 0)
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

    // The two clocks are read one after the other; nobody suspends a machine for less.
    private static let shortestSleep = Duration.milliseconds(500)

    /// Dumps everything where the machine has slept: links were taken down, leases ran out, and nobody told.
    func noticeSleep(_ news: inout NetlinkChanges) {
        let slept = self.options.slept()
        let lasted = slept - self.slept
        self.slept = slept
        guard lasted >= NetlinkClient.shortestSleep, !self.options.isOnce, case .connected = self.state else { return }
        self.resync(&news, reason: .resume)
        self.refreshNeighbours(&news)
    }

    func lose(_ error: NetlinkError, _ news: inout NetlinkChanges) {
        self.goBlind(error)
        news.events.append(.lost(error.description))
        news.isStateChanged = true
    }

    private struct Tally {
        var counts: [NetlinkEvent.MessageType: Int] = [:]
        var malformed = 0
        var isOverrun = false
    }

    private func take(_ envelope: NetlinkEnvelope, _ tally: inout Tally, _ news: inout NetlinkChanges) {
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

    private func report(_ tally: Tally, _ news: inout NetlinkChanges) {
        for (type, count) in tally.counts { news.events.append(.received(type, count: count)) }
        if tally.malformed > 0 { news.events.append(.malformed(count: tally.malformed)) }
        let routes = (tally.counts[.newroute] ?? 0) + (tally.counts[.delroute] ?? 0)
        if routes > 0 { self.weather(.routeMessages(routes), &news) }
    }
}
