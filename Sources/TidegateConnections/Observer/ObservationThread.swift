internal import TidegateCore
internal import TidegateLoop
internal import TidegateNetwork

/// The state of the thread `tg-observe`: its sockets, their timers, and the handling of what they show.
final class ObservationThread: LoopHandler {
    /// A closure that other threads run on the observer's thread.
    typealias Command = @Sendable (ObservationThread) -> Void

    private enum Timer: UInt64 {
        case connecting, established, listeners, second, batch, suspects
    }

    // One wake-up reads many messages; the buffer must hold the burst that arrives during the delay.
    private static let batchDelay = Duration.milliseconds(5)
    private static let longBatchDelay = Duration.milliseconds(20)
    private static let largeBuffer = 2 << 20
    // Listeners are few and show a connection's direction; a connection listed before its listener would get the wrong
    // one.
    private static let listenerInterval = Duration.seconds(1)

    private let loop: Loop
    private let environment: ConnectionObserver.Environment
    private let inbox: Inbox<Command>
    private let kept: KeptStatistics
    private var sockets: ObservationSockets
    private var announcements: SocketAnnouncementChannel?
    private var state: ObservationState
    private var mode = ObservationModeMachine()
    private var reconciliation: Reconciliation?
    private var rate = ObservationRate()
    private var lists = ListSchedule()

    init(
        _ loop: Loop, _ inbox: Inbox<Command>, _ configuration: ConnectionsConfiguration, own: OwnSockets,
        _ options: NetlinkOptions, _ environment: ConnectionObserver.Environment, _ kept: KeptStatistics
    ) {
        options.onThreadStart()
        self.loop = loop
        self.environment = environment
        self.inbox = inbox
        self.kept = kept
        self.state = ObservationState(configuration, own: own)
        self.sockets = ObservationSockets(configuration: configuration, options: options)
        self.openAnnouncements(options)
        self.start()
    }

    // Join first, list second, read third: a connection that ends in between is seen twice and never missed.
    private func start() {
        self.open()
        self.state.set(self.environment.targets())
        if let counters = TCPCounters.read() {
            self.reconciliation = Reconciliation(since: counters)
            self.state.begin(counters)
        }
        _ = self.mode.handle(.counters(isReadable: self.reconciliation != nil))
        self.listListeners()
        self.list(.established)
        self.list(.connecting)
        self.rate.secondPassed(self.sockets.dropCount, TCPCounters.read())
        self.publishMode()
        self.start(.connecting, after: self.state.configuration.connectingInterval)
        self.start(.established, after: self.state.configuration.establishedInterval)
        self.start(.listeners, after: Self.listenerInterval)
        self.start(.second, after: .seconds(1))
    }

    private func openAnnouncements(_ options: NetlinkOptions) {
        do throws(NetlinkError) {
            let announcements = try SocketAnnouncementChannel(options)
            self.announcements = announcements
            self.state.announced = AnnouncedSockets(ownUser: announcements.user)
            self.state.own.observe(as: announcements.name)
            try? self.loop.watch(announcements.descriptor, for: .read)
        } catch {
            _ = self.mode.handle(.part(.announcements, refusal: error.description))
        }
    }

    private func open() {
        let refusal = self.sockets.openEndings()
        _ = self.mode.handle(.part(.endings, refusal: refusal))
        if let descriptor = self.sockets.endingsDescriptor { try? self.loop.watch(descriptor, for: .read) }
    }

    private func start(_ timer: Timer, after delay: Duration) {
        _ = self.loop.schedule(after: delay, token: timer.rawValue)
    }

    private var now: ObservationState.Moment {
        ObservationState.Moment(monotonic: self.environment.time.monotonic(), wall: self.environment.time.wall())
    }

    private func execute(_ effects: [ObservationEffect]) {
        for effect in effects {
            switch effect {
            case .publish(let event): self.environment.publish(event)
            case .lookUp(let address):
                Task { [environment, inbox] in
                    let route = await environment.route(address)
                    _ = inbox.put { $0.execute($0.state.routed(address, route, at: $0.now.monotonic)) }
                }
            }
        }
    }

    // MARK: Incoming events

    func receive(_ command: Command) { command(self) }

    /// Handles a change of the host's path of a family; `isFirst` if the path was unknown before.
    func pathChanged(_ family: AddressFamily, isFirst: Bool) {
        self.state.pathChanged(family, isFirst: isFirst, at: self.now.monotonic)
    }

    func report() -> ConnectionsReport {
        self.refresh()
        return ConnectionsReport(self.state, self.mode.mode, self.mode.reason, at: self.now.monotonic)
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        if descriptor == self.announcements?.descriptor { return self.readAnnouncements() }
        guard descriptor == self.sockets.endingsDescriptor else { return }
        // More will follow: reading them together halves the cost of each.
        guard self.rate.isBusy else { return self.readEndings() }
        try? self.loop.unwatch(descriptor)
        let isLarge = self.sockets.receiveBufferBytes >= Self.largeBuffer
        self.start(.batch, after: isLarge ? Self.longBatchDelay : Self.batchDelay)
    }

    func timerFired(_ token: UInt64) {
        switch Timer(rawValue: token) {
        case .connecting:
            if self.lists.needsConnecting { self.list(.connecting) }
            // The party depends on which other remotes answer, which only the other list shows.
            if self.state.groups.hasUnreported { self.refresh() }
            self.start(.connecting, after: self.state.configuration.connectingInterval)
        case .established:
            self.state.set(self.environment.targets())
            // Read before the lists: connections that begin during the lists must not count as missing.
            let counters = TCPCounters.read()
            self.lists.count(counters)
            if self.lists.needsConnecting { self.list(.connecting) }
            let duration = self.list(.established)
            self.reconcile(with: counters)
            let pause = ListSchedule.pause(
                after: duration, every: self.state.configuration.establishedInterval,
                isAnythingStalled: self.state.isAnythingStalled)
            self.start(.established, after: pause)
        case .listeners:
            self.listListeners()
            self.start(.listeners, after: Self.listenerInterval)
        case .suspects:
            self.lists.suspectPauseEnded()
            self.list(.established)
        case .second:
            self.secondPassed()
            self.start(.second, after: .seconds(1))
        case .batch:
            if let descriptor = self.sockets.endingsDescriptor { try? self.loop.watch(descriptor, for: .read) }
            self.readEndings()
        case nil: break
        }
    }

    // Lists live connections, unless that was done recently or lists are slow.
    private func refresh() {
        if self.mode.mode.hasLists, self.lists.isDue(at: self.loop.clock.monotonic()) { self.list(.established) }
    }

    private func readEndings() {
        let now = self.now
        var effects: [ObservationEffect] = []
        let count = self.sockets.readEndings { report in
            // The other process announced the socket before connecting it, perhaps since the last read.
            if !self.state.table.contains(report.cookie) { self.readAnnouncements() }
            effects += self.state.ended(report, at: now)
        }
        self.rate.add(count)
        self.execute(effects)
        if let failure = self.sockets.endingsFailure { _ = self.mode.handle(.part(.endings, refusal: failure)) }
    }

    private func readAnnouncements() {
        self.announcements?.receive { cookie, user in
            self.state.announced.insert(cookie, of: user, at: self.now.monotonic)
        }
    }

    // The socket for messages has failed and is replaced; a list shows the connections that ended in the gap as gone.
    private func reopen() {
        guard self.sockets.endingsFailure != nil, !self.mode.isStorm else { return }
        self.open()
        self.publishMode()
        self.list(.established)
    }

    // MARK: Requests

    @discardableResult
    private func list(_ kind: ConnectionStatistics.Dump) -> Duration {
        let isFirst = !self.lists.listed.contains(kind)
        let start = self.loop.clock.monotonic()
        let now = self.now
        var effects: [ObservationEffect] = []
        var (count, hasSuspects) = (0, false)
        self.state.begin(kind)
        let refusal = self.sockets.list(kind == .connecting ? .connecting : .live) { report in
            count += 1
            if !self.state.table.contains(report.cookie) { self.readAnnouncements() }
            self.state.add(report, isFirst: isFirst, at: now)
            hasSuspects = hasSuspects || StallDetector.isSuspect(report) && self.state.exclusion(of: report) == nil
        }
        let end = self.loop.clock.monotonic()
        let duration = end - start
        if kind == .established {
            self.lists.didListEstablished(at: end, took: duration)
            if hasSuspects, let pause = self.lists.suspectPause(after: duration) { self.start(.suspects, after: pause) }
        } else {
            self.lists.didListConnecting(refusal == nil ? count : 1)
        }
        if refusal == nil {
            self.lists.listed.insert(kind)
            effects += self.state.end(kind, took: duration, at: now)
        } else {
            self.state.cancel(kind)
        }
        self.setListRefusal(refusal)
        self.execute(effects)
        return duration
    }

    private func listListeners() {
        let start = self.loop.clock.monotonic()
        var reports: [SocketReport] = []
        let refusal = self.sockets.list(.listeners) { reports.append($0) }
        if refusal == nil {
            let own = self.sockets.ownInodes(of: reports)
            self.state.listeners.replace(by: reports, at: self.now.monotonic) { own.contains($0) }
            _ = self.state.end(.listeners, took: self.loop.clock.monotonic() - start, at: self.now)
        }
        self.setListRefusal(refusal)
    }

    private func setListRefusal(_ refusal: NetlinkError?) {
        _ = self.mode.handle(.part(.lists, refusal: refusal?.description))
        // ENOENT: the kernel lacks the socket diagnostics module.
        let missing = refusal.flatMap { $0.code == 2 ? $0.description : nil }
        _ = self.mode.handle(.part(.kernelPart, refusal: missing))
        self.publishMode()
    }

    private func reconcile(with counters: TCPCounters?) {
        guard self.mode.mode == .event, let counters else { return }
        self.readEndings()
        guard let found = self.reconciliation?.compare(self.state.observed, with: counters) else { return }
        self.state.recorder.statistics.unexplained = found
    }

    private func secondPassed() {
        self.reopen()
        // Messages first: the kernel counts a reset before it reports the ending.
        self.readEndings()
        let counters = TCPCounters.read()
        self.lists.secondPassed(counters)
        if self.mode.mode.hasLists, self.lists.isOutdated(at: self.loop.clock.monotonic()) { self.list(.established) }
        if self.lists.isSuspicious { self.refresh() }
        _ = self.mode.handle(.counters(isReadable: counters != nil))
        self.execute(self.state.secondPassed(counters, at: self.now))
        let second = self.rate.secondPassed(self.sockets.dropCount, counters)
        if second.drops > 0 {
            self.state.recorder.statistics.dropped += UInt64(second.drops)
            self.environment.publish(.dropped(count: second.drops))
        }
        switch self.mode.handle(.second(messages: second.messages, drops: second.drops, opened: second.opened)) {
        case .leaveGroups: self.sockets.leave()
        case .joinGroups:
            self.sockets.rejoin()
            self.list(.established)
        case nil: break
        }
        self.publishMode()
        self.keepStatistics()
    }

    private func publishMode() {
        let before = self.mode.reported
        guard self.mode.report() else { return }
        self.environment.publish(.modeChanged(from: before, to: self.mode.mode, reason: self.mode.reason))
        self.keepStatistics()
    }

    private func keepStatistics() {
        self.state.recorder.statistics.mode = self.mode.mode
        self.state.groups.seesEndings = [.event, .eventsOnly].contains(self.mode.mode)
        self.state.recorder.statistics.reason = self.mode.reason
        self.state.recorder.statistics.tracked = self.state.table.count
        self.state.recorder.statistics.receiveBufferBytes = self.sockets.receiveBufferBytes
        self.kept.keep(self.state.recorder.statistics)
    }
}

/// Counts the events of one second.
struct ObservationRate {
    // Above this rate messages are read in batches.
    private static let busyRate = 100

    private var messages = 0
    private var drops: UInt32 = 0
    private var opened: UInt64 = 0
    /// True if the last second had so many messages that batching saves time.
    private(set) var isBusy = false

    /// Adds a number of messages.
    mutating func add(_ count: Int) { self.messages += count }

    /// Handles the end of a second; `drops` and `opened` are totals.
    ///
    /// Returns the numbers of this second; `opened` counts the connections that the kernel opened or accepted.
    @discardableResult
    mutating func secondPassed(
        _ drops: UInt32, _ counters: TCPCounters?
    ) -> (messages: Int, drops: Int, opened: Int) {
        let opened = counters.map { $0.activeOpens + $0.passiveOpens } ?? 0
        // The kernel's count restarts with a new socket; a wraparound takes far longer than a second.
        let newDrops = drops &- self.drops > UInt32(Int32.max) ? drops : drops &- self.drops
        defer { (self.messages, self.drops, self.opened) = (0, drops, opened) }
        self.isBusy = self.messages > Self.busyRate
        return (self.messages, Int(newDrops), Int(opened.growth(since: self.opened)))
    }
}
