internal import TidegateCore

// What happens when messages are lost, or arrive faster than they can be read.
extension NetlinkClient {
    private static let largestBuffer = 64 << 20

    func didOverrun(_ changes: inout NetlinkChanges) {
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

    func handleOverload(_ input: StormMachine.Input, _ changes: inout NetlinkChanges) {
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

    func setMode(_ mode: ReachabilityStatus.Mode, _ changes: inout NetlinkChanges) {
        guard self.state != .connected(mode), case .connected = self.state else { return }
        self.state = .connected(mode)
        changes.events.append(.modeChanged(mode))
        changes.isStateChanged = true
    }
}
