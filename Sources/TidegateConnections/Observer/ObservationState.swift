internal import TidegateCore
internal import TidegateNetwork

/// The observed connections of other programs and the conclusions from them; all state that needs no descriptor.
struct ObservationState {
    /// One moment on both clocks.
    struct Moment {
        let monotonic: MonotonicTime
        let wall: WallTime
    }

    let configuration: ConnectionsConfiguration
    let own: OwnSockets
    var announced = AnnouncedSockets()
    var table: ConnectionTable
    var remotes = RemoteTable()
    var listeners = ListenerTable()
    var routes = RouteCache()
    var groups = GroupWatch()
    var failures = FailureAttribution()
    var ambiguousConnects = AmbiguousConnects()
    var unreadEnds = UnreadEnds()
    var observed = Reconciliation.Observed()
    var recorder = StatisticsRecorder()
    var targets = TargetIndex()

    init(_ configuration: ConnectionsConfiguration, own: OwnSockets) {
        self.configuration = configuration
        self.own = own
        self.table = ConnectionTable(limit: configuration.maxTracked)
    }

    /// Why a connection is ignored; nil if it is included.
    func exclusion(of report: SocketReport) -> ConnectionStatistics.Exclusion? {
        let remote = report.remote.address
        if self.own.contains(report.cookie) || self.listeners.ownPorts.contains(report.local.port) { return .own }
        if self.announced.contains(report.cookie, of: report.user) { return .announced }
        let isLocal = (remote.isLoopback || report.local.address.isLoopback) && !self.configuration.includesLoopback
        let (ports, remotes) = (self.configuration.excludedPorts, self.configuration.excludedRemotes)
        return isLocal || ports.contains(report.local.port) || ports.contains(report.remote.port)
            || remotes.contains { $0.contains(remote) } ? .configuration : nil
    }

    /// The direction of a live connection: from its sequence numbers if they show it, else from the listeners.
    func direction(of report: SocketReport, at now: MonotonicTime) -> ConnectionDirection {
        switch report.state {
        case .synSent: return .outgoing
        case .synReceived, .newSynReceived: return .incoming
        case .established, .closeWait:
            // The sequence numbers show nothing before the first acknowledgement.
            let count = SegmentCount(report)
            if report.tcp != nil, count.isEstablished, count.controlBytes == 1 { return .outgoing }
            if report.tcp != nil, count.isEstablished, count.controlBytes == 0 { return .incoming }
        case .finWait1, .finWait2, .timeWait, .close, .lastAck, .listen, .closing, .boundInactive: break
        }
        return self.listeners.contains(report.local, at: now) ? .incoming : .outgoing
    }

    /// The state of a live connection as its label names it.
    static func state(of report: SocketReport) -> ConnectionStatistics.State {
        switch report.state {
        case .synSent, .synReceived, .newSynReceived: .connecting
        case .established: .established
        case .finWait1, .finWait2, .timeWait, .close, .closeWait, .lastAck, .closing, .listen, .boundInactive:
            .closing
        }
    }

    /// Whether any connection hangs.
    var isAnythingStalled: Bool { self.remotes.entries.contains { $0.value.isStalled } }

    /// Sets the configured targets.
    mutating func set(_ targets: [ObservedTarget]) { self.targets = TargetIndex(targets) }

    /// Records that the host's path of a family changed, or became known (`isFirst`), in which case nothing has to
    /// settle.
    mutating func pathChanged(_ family: AddressFamily, isFirst: Bool, at now: MonotonicTime) {
        self.routes.expire()
        if !isFirst { self.failures.pathChanged(family, at: now) }
    }

    // MARK: Lists of live sockets

    /// Handles the start of a list.
    mutating func begin(_ kind: ConnectionStatistics.Dump) {
        switch kind {
        case .connecting: self.remotes.beginList(of: [.connecting])
        case .established:
            self.table.beginList()
            self.remotes.beginList(of: [.established, .closing])
        case .listeners: break
        }
    }

    /// Handles a listed connection; `isFirst` if it is from the first list, which shows connections from before the
    /// start.
    mutating func add(_ report: SocketReport, isFirst: Bool, at now: Moment) {
        // The connection has ended, and its message has arrived. Until the peer closes as well, the kernel lists it in
        // state FIN-WAIT-2 (tcp_fin_timeout in ip-sysctl).
        guard report.timer != .timeWait else { return }
        let known = self.table.update(report.cookie) { ($0.direction, $0.user) }
        var report = report
        report.user = report.user ?? known?.1
        let direction = known?.0 ?? self.direction(of: report, at: now.monotonic)
        if known == nil {
            var connection = TrackedConnection(report, direction, listNumber: self.table.listNumber)
            if isFirst { connection.flags.insert(.old) }
            // Beyond the limit, lists show how many connections exist and which hang, but not how they end.
            let isKept = self.table.insert(connection)
            if isKept, direction == .outgoing, !isFirst { self.observed.connects += 1 }
        }
        let stall = StallDetector.stall(of: report)
        let step = self.advance(report, direction, stall, isFirst: isFirst)
        let exclusion = self.exclusion(of: report)
        let remote = step.remote
        let target = self.targets.name(of: remote)
        if step.isNewlyEstablished, !isFirst { self.countOpening(direction, target, exclusion) }
        guard exclusion == nil else { return }
        self.recorder.traffic(step.delta, direction)
        // Data from a remote that our packets do not reach is not an answer.
        let answered = report.tcp?.silence.map { max($0, stall?.silence ?? .zero) }
        self.remotes.update(remote, at: now.monotonic) { entry in
            entry.add(Self.state(of: report), stall, owner: step.owner, at: now.monotonic)
            entry.sentSegments += step.delta.sentSegments
            entry.retransmittedSegments += step.delta.retransmittedSegments
            entry.add(step.delta.limits, at: now.monotonic)
            if step.isNewlyEstablished, !isFirst { entry.opened = now.monotonic }
            if report.state == .synSent { entry.isKeptHere = report.isNeverSent }
            if let answered { entry.answer(answered, roundTrip: report.tcp?.roundTripSample, at: now.monotonic) }
        }
        if let answered { self.recorder.answer(remote.address, target: target, at: now.wall + (.zero - answered)) }
        guard let stall else { return }
        if step.isNewlyStalled { self.recorder.stall(stall.kind, direction) }
        self.groups.addStall(stall, of: remote)
    }

    private struct Step {
        var remote: Remote
        var delta = TrafficDelta()
        var owner: RemoteReport.Owner
        var isNewlyEstablished = false
        var isNewlyStalled = false
    }

    // An unknown connection here means that the table is full; skipping it avoids counting it twice.
    private mutating func advance(
        _ report: SocketReport, _ direction: ConnectionDirection, _ stall: StallFinding?, isFirst: Bool
    ) -> Step {
        let list = self.table.listNumber
        let isOpen = Self.state(of: report) != .connecting
        let step = self.table.update(report.cookie) { connection in
            connection.listNumber = list
            let isNewlyEstablished = isOpen && !connection.flags.contains(.established)
            if isOpen { connection.flags.insert(.established) }
            if report.state == .synSent, report.isNeverSent {
                connection.flags.insert(.neverSent)
            }
            let isNewlyStalled = stall != nil && connection.stall == nil
            connection.stall = stall?.kind
            let delta = report.tcp.map { connection.advance(to: $0) } ?? TrafficDelta()
            return Step(
                // Traffic from before the start is not counted.
                remote: connection.remote, delta: isFirst ? TrafficDelta() : delta, owner: connection.owner,
                isNewlyEstablished: isNewlyEstablished, isNewlyStalled: isNewlyStalled)
        }
        return step
            ?? Step(
                remote: TrackedConnection(report, direction, listNumber: list).remote,
                owner: .init(user: report.user ?? 0))
    }

    /// Handles the end of a list and its duration.
    mutating func end(_ kind: ConnectionStatistics.Dump, took duration: Duration, at now: Moment) -> [ObservationEffect]
    {
        self.recorder.dump(kind, took: duration)
        guard kind != .listeners else { return [] }
        if kind == .established { self.groups.lastList = now.monotonic }
        if kind == .established, self.table.listNumber > 1 {
            // The messages about their ends were lost, or they ended while the groups were left.
            _ = self.table.removeAll(notSeenSince: self.table.listNumber - 1)
        }
        var effects: [ObservationEffect] = []
        for (remote, end) in self.remotes.endList(isEstablished: kind == .established, at: now.monotonic) {
            guard self.groups.removeStalls(of: remote), end == .answered else { continue }
            effects.append(.publish(.recovered(remote)))
        }
        if kind == .established { self.remotes.prune(at: now.monotonic) }
        effects += self.assessGroups(at: now.monotonic)
        self.recorder.gauges(self.remotes, targets: self.targets)
        return effects
    }

    /// Handles a refused list: it shows nothing, and no connection counts as ended.
    mutating func cancel(_ kind: ConnectionStatistics.Dump) {
        if kind == .established { self.table.cancelList() }
    }

    // Decides the party of hanging connections, by the other remotes behind the same next hop.
    private mutating func assessGroups(at now: MonotonicTime) -> [ObservationEffect] {
        var effects: [ObservationEffect] = []
        guard self.isAnythingStalled || !self.groups.isIdle else { return [] }
        for (remote, entry) in self.remotes.entries
        where entry.count > 0 && (remote.direction == .outgoing || entry.isStalled) {
            if self.routes.needsLookUp(remote.address, at: now) { effects.append(.lookUp(remote.address)) }
        }
        return effects + self.setParties(at: now)
    }

    /// Sets the party of hanging connections for every remote whose route is known.
    mutating func setParties(at now: MonotonicTime) -> [ObservationEffect] {
        guard !self.routes.isWaiting(at: now) else { return [] }
        let assessed = self.groups.assess(self.remotes, self.routes, at: now)
        for (remote, party) in assessed.parties {
            guard let entry = self.remotes.entries[remote] else { continue }
            self.remotes.update(remote, at: entry.lastSeen) { $0.party = party }
        }
        return assessed.effects
    }

    // MARK: Messages about closed sockets

    /// Handles a closed socket.
    mutating func ended(_ report: SocketReport, at now: Moment) -> [ObservationEffect] {
        self.recorder.statistics.messages[report.local.address.family, default: 0] += 1
        guard report.protocolNumber == 6 else { return [] }
        let known = self.table.remove(report.cookie)
        // The message does not contain the socket's owner; a list may have shown it.
        var report = report
        report.user = known?.user
        let count = SegmentCount(report)
        if count.hasNoRemote {
            if report.local.port != 0 {
                self.listeners.ended(port: report.local.port, report.local.address, at: now.monotonic)
            }
            return []
        }
        let context = OutcomeClassifier.Context(
            isOwnPortListening: known.map { $0.direction == .incoming }
                ?? self.listeners.contains(report.local, at: now.monotonic),
            wasNeverSent: known?.flags.contains(.neverSent) ?? false,
            wasEstablished: known?.flags.contains(.established) ?? false)
        guard let ending = OutcomeClassifier.classify(report, context) else { return [] }
        if known == nil, ending.direction == .outgoing { self.observed.connects += 1 }
        guard ending.certainty == .likely, !ending.wasEstablished || report.receiveQueue > 0 else {
            return self.conclude(report, ending, known, at: now)
        }
        // The counters of this second will decide.
        guard !ending.wasEstablished else {
            self.unreadEnds.add((report, known, context))
            return []
        }
        // The kernel forgets the remote's port when a connect is given up; a list may have shown it.
        if report.remote.port == 0, let port = known?.remote.port { report.remote.port = port }
        self.ambiguousConnects.add(report, isTorn: count.isTorn)
        return []
    }

    /// Records the outcome of a connection.
    private mutating func conclude(
        _ report: SocketReport, _ ending: ConnectionEnding, _ known: TrackedConnection?, at now: Moment
    ) -> [ObservationEffect] {
        // The counters have already explained those that are not sure.
        if !ending.wasEstablished, ending.certainty == .sure { self.ambiguousConnects.explain(ending.outcome) }
        switch ending.outcome {
        case .reset, .aborted, .lost: self.observed.resets += 1
        case .established, .refused, .unreachable, .noAnswer, .notSent, .abandoned, .closed: break
        }
        let exclusion = self.exclusion(of: report)
        let remote = self.remote(of: report, ending.direction, known)
        let target = self.targets.name(of: remote)
        let isNew = !(known?.flags.contains(.established) ?? false) && ending.wasEstablished
        if isNew || !(known?.flags.contains(.established) ?? false) && exclusion != nil {
            self.countOpening(ending.direction, target, exclusion)
        }
        guard exclusion == nil else { return [] }
        if ending.wasEstablished {
            self.recorder.end(ending.outcome, ending.direction, target: target)
            self.countTraffic(report, ending, known)
        } else {
            self.recorder.connect(ending.outcome, target: target)
        }
        let answered = ending.outcome.isAnswer(after: known?.stall) ? report.tcp?.silence : nil
        self.remotes.update(remote, at: now.monotonic) { entry in
            entry.outcomes.add(ending.outcome, at: now.monotonic)
            if isNew || ending.outcome == .refused { entry.opened = now.monotonic }
            if let answered { entry.answer(answered, roundTrip: report.tcp?.roundTripSample, at: now.monotonic) }
        }
        if let answered { self.recorder.answer(remote.address, target: target, at: now.wall + (.zero - answered)) }
        return ending.outcome.isFailure ? self.fail(remote, ending.outcome, at: now.monotonic) : []
    }

    private mutating func countOpening(
        _ direction: ConnectionDirection, _ target: String?, _ exclusion: ConnectionStatistics.Exclusion?
    ) {
        switch (direction, exclusion) {
        case (.outgoing, nil): self.recorder.connect(.established, target: target)
        case (.outgoing, let exclusion?): self.recorder.statistics.excluded[exclusion, default: 0] += 1
        case (.incoming, nil): self.recorder.statistics.accepts += 1
        case (.incoming, _?): break
        }
    }

    private mutating func countTraffic(
        _ report: SocketReport, _ ending: ConnectionEnding, _ known: TrackedConnection?
    ) {
        guard let info = report.tcp else { return }
        var connection = known ?? TrackedConnection(report, ending.direction, listNumber: self.table.listNumber)
        self.recorder.traffic(connection.advance(to: info), ending.direction)
        if ending.direction == .outgoing, let sample = info.roundTripSample {
            self.recorder.roundTrip(sample, ConnectionScope(report.remote.address))
        }
    }

    // The remote; a port that the kernel has forgotten is known if a list showed the connection.
    private func remote(
        of report: SocketReport, _ direction: ConnectionDirection, _ known: TrackedConnection?
    ) -> Remote {
        if let known { return known.remote }
        let port = direction == .outgoing ? report.remote.port : report.local.port
        return Remote(report.remote.address, port: port == 0 ? nil : port, direction)
    }

    // MARK: Failures

    private mutating func fail(_ remote: Remote, _ outcome: ConnectionOutcome, at now: MonotonicTime)
        -> [ObservationEffect]
    {
        let surroundings = self.surroundings(of: remote.address, needsOthers: outcome.isSilence, at: now)
        let decided = self.failures.add(remote, outcome, surroundings, at: now)
        if let decided { return self.record(decided, at: now) }
        if self.routes.needsLookUp(remote.address, at: now) { return [.lookUp(remote.address)] }
        guard !self.routes.isAsked(remote.address) else { return [] }
        // No further evidence will come.
        let undecided = self.failures.routed(remote.address, .init(verdict: .unknown), at: now)
        return undecided.flatMap { self.record($0, at: now) }
    }

    private mutating func record(_ decided: FailureAttribution.Decided, at now: MonotonicTime) -> [ObservationEffect] {
        self.recorder.failure(decided.outcome, decided.party)
        if let entry = self.remotes.entries[decided.remote] {
            self.remotes.update(decided.remote, at: entry.lastSeen) {
                $0.outcomes.attribute(decided.outcome, of: decided.moment, to: decided.party)
            }
        }
        return decided.event.map { [.publish($0)] } ?? []
    }

    /// Handles the result of a route lookup.
    mutating func routed(_ address: IPAddress, _ route: AddressRoute, at now: MonotonicTime) -> [ObservationEffect] {
        self.routes.set(route, for: address)
        var state = self.surroundings(of: address, needsOthers: self.failures.isAnySilent(at: address), at: now)
        // A route looked up before the paths changed is not kept, but is better than none.
        state.verdict = state.verdict ?? route.verdict
        let decided = self.failures.routed(address, state, at: now)
        var effects: [ObservationEffect] = []
        for failure in decided { effects += self.record(failure, at: now) }
        guard !self.groups.isIdle else { return effects }
        return effects + self.setParties(at: now)
    }

    // The other remotes are many, and matter only for silent failures.
    private mutating func surroundings(
        of address: IPAddress, needsOthers: Bool, at now: MonotonicTime
    ) -> FailureAttribution.Surroundings {
        let nextHop = self.routes.nextHop(to: address)
        var surroundings = FailureAttribution.Surroundings(
            verdict: self.routes.recentRoute(to: address, at: now)?.verdict, nextHop: nextHop)
        guard needsOthers, let nextHop else { return surroundings }
        let isAnyAnswering = self.groups.isAnyAnswering(
            behind: nextHop, besides: address, self.remotes, self.routes, at: now)
        surroundings.remotes = isAnyAnswering ? .answering : self.groups.isSilent(nextHop) ? .silent : nil
        return surroundings
    }

    // MARK: Counters

    /// Starts observing: what the kernel has counted so far is the baseline.
    mutating func begin(_ counters: TCPCounters) {
        _ = self.ambiguousConnects.assess(by: counters)
        _ = self.unreadEnds.assess(by: counters)
    }

    /// Handles the end of a second, with the kernel's counters; nil if unavailable.
    mutating func secondPassed(_ counters: TCPCounters?, at now: Moment) -> [ObservationEffect] {
        self.recorder.statistics.kernel = counters
        var effects = self.failures.flush(at: now.monotonic).map(ObservationEffect.publish)
        for (report, outcome) in self.ambiguousConnects.assess(by: counters) {
            let ending = ConnectionEnding(
                outcome: outcome, direction: .outgoing, certainty: .likely, wasEstablished: false)
            effects += self.conclude(report, ending, nil, at: now)
        }
        for (end, ending) in self.unreadEnds.assess(by: counters) {
            effects += self.conclude(end.report, ending, end.known, at: now)
        }
        self.announced.expire(at: now.monotonic, live: self.table)
        return effects
    }
}

extension TCPInfo {
    // A socket that never received anything counts from five minutes after boot.
    private static var longestSilence: UInt32 { 600_000 }

    /// The time since the peer acknowledged or sent anything; nil if it never did.
    var silence: Duration? {
        guard self.acknowledgedBytes > 0 || self.receivedBytes > 0 || self.receivedSegments > 0 else { return nil }
        let silence = min(self.lastAcknowledgement, self.lastDataReceived)
        return silence < Self.longestSilence ? .milliseconds(Int64(silence)) : nil
    }

    /// The shortest round trip; nil without a sample.
    fileprivate var roundTripSample: Duration? { self.shortestRoundTrip.map { .microseconds(Int64($0)) } }
}

extension ConnectionOutcome {
    /// True if nothing came back any more.
    var isSilence: Bool {
        switch self {
        case .noAnswer, .lost: true
        case .established, .refused, .unreachable, .notSent, .abandoned, .closed, .reset, .aborted: false
        }
    }

    /// Whether such an ending shows that the remote had answered until then; `stall` is how the connection hung, if it
    /// did.
    ///
    /// Data from a remote that our packets do not reach is not an answer.
    func isAnswer(after stall: ConnectionStall?) -> Bool {
        switch self {
        case .established, .refused, .closed, .reset: true
        case .aborted, .unreachable, .notSent, .abandoned: stall == nil || stall == .window
        case .noAnswer, .lost: false
        }
    }
}
