internal import TidegateCore
internal import TidegateLoop
internal import TidegateNetwork

/// What the thread `tg-observe` runs: the two sockets, their timers, and what follows from what they show.
final class ObservationThread: LoopHandler {
    enum Command: Sendable {
        /// The route to an address was looked up.
        case routed(IPAddress, AddressRoute)
        /// The host's paths changed.
        case pathChanged
        /// Somebody wants to know what is known.
        case report(CheckedContinuation<ConnectionsReport, Never>)
    }

    /// What the thread asks, and whom it tells.
    struct Dependencies: Sendable {
        var publish: @Sendable (ConnectionEvent) -> Void
        var lookUp: @Sendable (IPAddress) -> Void
        var targets: @Sendable () -> [ObservedTarget]
        var keep: @Sendable (ConnectionStatistics) -> Void
        var time: any TimeSource
    }

    private enum Timer: UInt64 {
        case connecting, established, listeners, second, batch
    }

    // Of messages that come in a burst, many are read with one wake-up.
    private static let batchDelay = Duration.milliseconds(5)
    // They are few, and say which way a connection goes: one that came before its listener was known went the wrong way.
    private static let listenerInterval = Duration.seconds(1)

    private let loop: Loop
    private let dependencies: Dependencies
    private var sockets: ObservationSockets
    private var state: ObservationState
    private var mode = ObservationModeMachine()
    private var reported = ObservationMode.off
    private var reconciliation: Reconciliation?
    private var rate = ObservationRate()

    init(
        _ loop: Loop, _ configuration: ConnectionsConfiguration, own: OwnSockets, _ options: NetlinkOptions,
        _ dependencies: Dependencies
    ) {
        options.onThreadStart()
        self.loop = loop
        self.dependencies = dependencies
        self.state = ObservationState(configuration, own: own)
        self.sockets = ObservationSockets(configuration, options)
        self.start()
    }

    // Joined first, listed second, read third: what ends in between is seen twice, never missed.
    private func start() {
        self.open()
        self.state.set(self.dependencies.targets())
        if let counters = TCPCounters.read() { self.reconciliation = Reconciliation(since: counters) }
        _ = self.mode.handle(.counters(isReadable: self.reconciliation != nil))
        self.listListeners()
        self.list(.established)
        self.list(.connecting)
        self.rate.second(self.sockets.dropCount, TCPCounters.read())
        self.publishMode()
        self.schedule(.connecting, after: self.state.configuration.connectingInterval)
        self.schedule(.established, after: self.state.configuration.establishedInterval)
        self.schedule(.listeners, after: Self.listenerInterval)
        self.schedule(.second, after: .seconds(1))
    }

    private func open() {
        let refusal = self.sockets.openEndings()
        _ = self.mode.handle(.endings(refusal: refusal))
        if let descriptor = self.sockets.endingsDescriptor { try? self.loop.watch(descriptor, for: .read) }
    }

    private func schedule(_ timer: Timer, after delay: Duration) {
        _ = self.loop.schedule(after: delay, token: timer.rawValue)
    }

    private var now: ObservationState.Moment {
        ObservationState.Moment(monotonic: self.dependencies.time.monotonic(), wall: self.dependencies.time.wall())
    }

    private func execute(_ effects: [ObservationEffect]) {
        for effect in effects {
            switch effect {
            case .publish(let event): self.dependencies.publish(event)
            case .lookUp(let address): self.dependencies.lookUp(address)
            }
        }
    }

    // MARK: What comes in

    func receive(_ command: Command) {
        switch command {
        case .routed(let address, let route):
            self.execute(self.state.routed(address, route, at: self.now.monotonic))
        case .pathChanged: self.state.pathChanged(at: self.now.monotonic)
        case .report(let waiter):
            waiter.resume(
                returning: ConnectionsReport(
                    self.state, self.mode.mode, self.mode.reason, at: self.now.monotonic))
        }
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard descriptor == self.sockets.endingsDescriptor else { return }
        // More will follow: they are read together, which costs half as much for each.
        guard self.rate.isBusy else { return self.readEndings() }
        try? self.loop.unwatch(descriptor)
        self.schedule(.batch, after: Self.batchDelay)
    }

    func timerFired(_ token: UInt64) {
        switch Timer(rawValue: token) {
        case .connecting:
            self.list(.connecting)
            self.schedule(.connecting, after: self.state.configuration.connectingInterval)
        case .established:
            self.state.set(self.dependencies.targets())
            let duration = self.list(.established)
            self.reconcile()
            self.schedule(.established, after: self.pause(after: duration))
        case .listeners:
            self.listListeners()
            self.schedule(.listeners, after: Self.listenerInterval)
        case .second:
            self.second()
            self.schedule(.second, after: .seconds(1))
        case .batch:
            if let descriptor = self.sockets.endingsDescriptor { try? self.loop.watch(descriptor, for: .read) }
            self.readEndings()
        case nil: break
        }
    }

    // A list may take at most 1 % of a processor. While something hangs, it is looked at every second.
    private func pause(after duration: Duration) -> Duration {
        let isShort = duration < .milliseconds(5)
        let wanted =
            self.state.isAnythingStalled && isShort ? .seconds(1) : self.state.configuration.establishedInterval
        return max(wanted, duration * 100)
    }

    private func readEndings() {
        let now = self.now
        var effects: [ObservationEffect] = []
        let count = self.sockets.readEndings { report in effects += self.state.ended(report, at: now) }
        self.rate.add(count)
        self.execute(effects)
        if let refusal = self.sockets.takeFailure() { _ = self.mode.handle(.endings(refusal: refusal)) }
    }

    // MARK: What is asked for

    @discardableResult
    private func list(_ kind: ConnectionStatistics.Dump) -> Duration {
        guard !(kind == .established && self.state.table.isFull) else { return .zero }
        let isFirst = self.state.table.list == 0 || kind == .connecting && self.reported == .off
        let start = self.loop.clock.monotonic()
        let now = self.now
        var effects: [ObservationEffect] = []
        self.state.begin(kind)
        let refusal = self.sockets.list(kind == .connecting ? .connecting : .live) { report in
            effects += self.state.add(report, isFirst: isFirst, at: now)
        }
        let duration = self.loop.clock.monotonic() - start
        effects += self.state.end(kind, took: duration, at: now)
        self.listed(refusal)
        self.execute(effects)
        return duration
    }

    private func listListeners() {
        let start = self.loop.clock.monotonic()
        var reports: [SocketReport] = []
        let refusal = self.sockets.list(.listeners) { reports.append($0) }
        let own = OwnInodes.read()
        self.state.replaceListeners(reports, at: self.now.monotonic) { own.contains($0) }
        _ = self.state.end(.listeners, took: self.loop.clock.monotonic() - start, at: self.now)
        self.listed(refusal)
    }

    private func listed(_ refusal: ObservationSockets.Refusal?) {
        _ = self.mode.handle(.lists(refusal: refusal?.text))
        // The part of the kernel that lists sockets is the one that tells of their ends.
        if refusal?.isMissing ?? false { _ = self.mode.handle(.endings(refusal: refusal?.text)) }
        self.publishMode()
    }

    private func reconcile() {
        guard self.mode.mode == .event, let counters = TCPCounters.read() else { return }
        self.readEndings()
        guard let found = self.reconciliation?.compare(self.state.observed, with: counters) else { return }
        self.state.recorder.set(found)
    }

    private func second() {
        let counters = TCPCounters.read()
        _ = self.mode.handle(.counters(isReadable: counters != nil))
        self.readEndings()
        self.execute(self.state.second(counters, at: self.now))
        let second = self.rate.second(self.sockets.dropCount, counters)
        if second.drops > 0 {
            self.state.recorder.drop(second.drops)
            self.dependencies.publish(.dropped(count: second.drops))
        }
        switch self.mode.handle(.second(messages: second.messages, drops: second.drops, opened: second.opened)) {
        case .leaveGroups: self.sockets.leave()
        case .joinGroups:
            self.sockets.rejoin()
            self.list(.established)
        case nil: break
        }
        self.publishMode()
        self.state.recorder.set(
            self.mode.mode, tracked: self.state.table.count, receiveBufferBytes: self.sockets.receiveBufferBytes)
        self.dependencies.keep(self.state.recorder.statistics)
    }

    private func publishMode() {
        let mode = self.mode.mode
        guard mode != self.reported else { return }
        self.dependencies.publish(.modeChanged(from: self.reported, to: mode, reason: self.mode.reason))
        self.reported = mode
        self.state.recorder.set(
            mode, tracked: self.state.table.count, receiveBufferBytes: self.sockets.receiveBufferBytes)
        self.dependencies.keep(self.state.recorder.statistics)
    }
}
