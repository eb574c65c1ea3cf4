internal import TidegateCore

// What is done about lost messages, and about too many.
extension NetlinkClient {
    private static let largestBuffer = 64 << 20

    func overrun(_ news: inout NetlinkChanges) {
        self.health.overruns += 1
        self.health.isConsistent = false
        self.isBehind = true
        news.events.append(.overrun)
        guard let monitor = self.monitor else { return }
        // The kernel reports the loss first; what is still queued is older than the loss.
        if case .failed(let error) = monitor.drain() { return self.lose(error, &news) }
        // The kernel doubles what it is asked for, so asking for the effective size doubles it.
        monitor.setReceiveBuffer(min(NetlinkClient.largestBuffer, max(4096, self.health.receiveBufferBytes)))
        self.noteReceiveBuffer(&news)
        self.weather(.overrun, &news)
        if self.timers[.resync] == nil {
            self.arm(.resync, after: self.storm.isStorm ? .milliseconds(250) : .milliseconds(50))
        }
    }

    func weather(_ input: StormMachine.Input, _ news: inout NetlinkChanges) {
        switch self.storm.handle(input, at: self.now) {
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

    func setMode(_ mode: ReachabilityStatus.Mode, _ news: inout NetlinkChanges) {
        guard self.state != .connected(mode), case .connected = self.state else { return }
        self.state = .connected(mode)
        news.events.append(.modeChanged(mode))
        news.isStateChanged = true
    }
}
