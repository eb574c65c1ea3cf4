internal import TidegateCore
internal import TidegateNetwork

// What lists of live sockets show.
extension ObservationState {
    /// A list begins.
    mutating func begin(_ kind: ConnectionStatistics.Dump) {
        switch kind {
        case .connecting: self.remotes.beginList(of: [.connecting])
        case .established:
            self.table.beginList()
            self.remotes.beginList(of: [.established, .closing])
        case .listeners: break
        }
    }

    /// A list showed a connection; `isFirst` for the first list, which shows what was there before.
    mutating func add(_ report: SocketReport, isFirst: Bool, at now: Moment) {
        // It has ended, and the message about it has come; while the peer does not close, too, the kernel remembers it, and
        // lists it in the state FIN-WAIT-2 (tcp_fin_timeout in ip-sysctl).
        guard report.timer != .timeWait else { return }
        let direction: ConnectionDirection
        let isKnown = self.table.update(report.cookie) { $0.direction }
        direction = isKnown ?? self.direction(of: report, at: now.monotonic)
        if isKnown == nil {
            var connection = TrackedConnection(report, direction, listNumber: self.table.listNumber)
            if isFirst { connection.flags.insert(.old) }
            // Of more than are kept each list shows how many there are and which of them hang, not what became of them.
            let isKept = self.table.insert(connection)
            if isKept, direction == .outgoing, !isFirst { self.observed.connects += 1 }
        }
        guard self.counts(report) else {
            self.table.markSeen(report.cookie)
            return
        }
        let stall = StallDetector.stall(of: report)
        let step = self.advance(report, direction, stall, isFirst: isFirst)
        let remote = step.remote
        let target = self.targets.name(of: remote)
        if step.isNewlyEstablished, !isFirst {
            if direction == .outgoing {
                self.recorder.connect(.established, target: target)
            } else {
                self.recorder.accept()
            }
        }
        self.recorder.traffic(step.delta, direction)
        // What a remote sends to which nothing comes through is no answer.
        let answered = report.tcp?.silence.map { max($0, stall?.silence ?? .zero) }
        self.remotes.update(remote, at: now.monotonic) { entry in
            entry.add(Self.state(of: report), stall, owner: step.owner, at: now.monotonic)
            entry.sentSegments += step.delta.sentSegments
            entry.retransmittedSegments += step.delta.retransmittedSegments
            if let answered {
                let roundTrip = report.tcp?.shortestRoundTrip.map { Duration.microseconds(Int64($0)) }
                entry.answer(answered, roundTrip: roundTrip, at: now.monotonic)
            }
        }
        if let answered {
            self.recorder.answer(remote.address, target: target, at: now.wall + (.zero - answered))
        }
        guard let stall else { return }
        if step.isNewlyStalled { self.recorder.stall(stall.kind, direction) }
        self.groups.addStall(stall, of: remote)
    }

    private struct Step {
        var remote: Remote
        var delta: TrafficDelta
        var owner: RemoteReport.Owner
        var isNewlyEstablished: Bool
        var isNewlyStalled: Bool
    }

    // A connection is known by now; if it is not, the table is full and nothing is counted twice.
    private mutating func advance(
        _ report: SocketReport, _ direction: ConnectionDirection, _ stall: StallFinding?, isFirst: Bool
    ) -> Step {
        let list = self.table.listNumber
        let isOpen = Self.state(of: report) != .connecting
        let step = self.table.update(report.cookie) { connection in
            connection.listNumber = list
            let isNewlyEstablished = isOpen && !connection.flags.contains(.established)
            if isOpen { connection.flags.insert(.established) }
            if report.state == .synSent, report.tcp?.retransmittedSegments == 0, report.timerExpiries > 0 {
                connection.flags.insert(.neverSent)
            }
            let isNewlyStalled = stall != nil && connection.stall == nil
            connection.stall = stall?.kind
            let delta = report.tcp.map { connection.advance(to: $0) } ?? TrafficDelta()
            return Step(
                // What was sent before observing began is not counted.
                remote: connection.remote, delta: isFirst ? TrafficDelta() : delta, owner: connection.owner,
                isNewlyEstablished: isNewlyEstablished, isNewlyStalled: isNewlyStalled)
        }
        return step
            ?? Step(
                remote: TrackedConnection(report, direction, listNumber: list).remote, delta: TrafficDelta(),
                owner: .init(user: report.user), isNewlyEstablished: false, isNewlyStalled: false)
    }

    /// A list has ended, which took so long.
    mutating func end(_ kind: ConnectionStatistics.Dump, took duration: Duration, at now: Moment) -> [ObservationEffect]
    {
        self.recorder.dump(kind, took: duration)
        guard kind != .listeners else { return [] }
        if kind == .established { self.groups.didList(at: now.monotonic) }
        if kind == .established, self.table.listNumber > 1 {
            // Messages about their ends were lost, or they ended while the groups were left.
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

    /// A list was refused: it shows nothing, and nobody has gone.
    mutating func cancel(_ kind: ConnectionStatistics.Dump) {
        if kind == .established { self.table.cancelList() }
    }

    /// Takes over a list of listeners.
    mutating func replaceListeners(_ reports: [SocketReport], at now: MonotonicTime, isOwn: (UInt32) -> Bool) {
        self.listeners.replace(by: reports, at: now, isOwn: isOwn)
    }

    // Whose failure it is that connections hang, by what other remotes behind the same next hop say.
    private mutating func assessGroups(at now: MonotonicTime) -> [ObservationEffect] {
        var effects: [ObservationEffect] = []
        let hasStalls = self.remotes.entries.contains { $0.value.isStalled }
        guard hasStalls || !self.groups.isIdle else { return [] }
        for (remote, entry) in self.remotes.entries
        where entry.count > 0 && (remote.direction == .outgoing || entry.isStalled) {
            if self.routes.needsLookUp(remote.address, at: now) { effects.append(.lookUp(remote.address)) }
        }
        return effects + self.setParties(at: now)
    }

    /// Sets whose failure it is that connections hang, as far as routes to their remotes are known.
    mutating func setParties(at now: MonotonicTime) -> [ObservationEffect] {
        guard !self.routes.isWaiting(at: now) else { return [] }
        let assessed = self.groups.assess(self.remotes, self.routes, at: now)
        for (remote, party) in assessed.parties {
            guard let entry = self.remotes.entries[remote] else { continue }
            self.remotes.update(remote, at: entry.lastSeen) { $0.party = party }
        }
        return assessed.effects
    }
}

extension TCPInfo {
    // A socket that never heard of its peer counts from five minutes after the machine's start.
    private static var longestSilence: UInt32 { 600_000 }

    /// How long ago the peer acknowledged or sent anything; nil if it never did.
    var silence: Duration? {
        guard self.acknowledgedBytes > 0 || self.receivedBytes > 0 || self.receivedSegments > 0 else { return nil }
        let silence = min(self.lastAcknowledgement, self.lastDataReceived)
        return silence < Self.longestSilence ? .milliseconds(Int64(silence)) : nil
    }
}
