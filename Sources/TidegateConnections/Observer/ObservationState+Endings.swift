internal import TidegateCore
internal import TidegateNetwork

// What the kernel's messages about sockets that ended say.
extension ObservationState {
    /// A socket has ended.
    mutating func ended(_ report: SocketReport, at now: Moment) -> [ObservationEffect] {
        self.recorder.message(report.local.address.family)
        guard report.protocolNumber == 6 else { return [] }
        let known = self.table.remove(report.cookie)
        let count = SegmentCount(report)
        if count.hasNoRemote {
            if report.local.port != 0 {
                self.listeners.ended(port: report.local.port, report.local.address, at: now.monotonic)
            }
            return []
        }
        let context = self.context(report, known, now)
        guard case .connection(let ending) = OutcomeClassifier.classify(report, context) else { return [] }
        if known == nil, ending.direction == .outgoing { self.observed.connects += 1 }
        guard ending.certainty == .likely, !ending.wasEstablished || report.receiveQueue > 0 else {
            return self.conclude(report, ending, known, at: now)
        }
        // The counters of this second tell.
        guard !ending.wasEstablished else {
            self.ambiguous.unread.add(UnreadEnds.End(report: report, known: known, context: context))
            return []
        }
        self.ambiguous.connects.add(report.withRemotePort(of: known), isTorn: count.isTorn)
        return []
    }

    private func context(
        _ report: SocketReport, _ known: TrackedConnection?, _ now: Moment
    ) -> OutcomeClassifier.Context {
        var context = OutcomeClassifier.Context()
        context.isOwnPortListening = self.listeners.contains(report.local, at: now.monotonic)
        if let known { context.isOwnPortListening = known.direction == .incoming }
        context.wasNeverSent = known?.flags.contains(.neverSent) ?? false
        context.wasEstablished = known?.flags.contains(.established) ?? false
        return context
    }

    /// What became of a connection is decided.
    private mutating func conclude(
        _ report: SocketReport, _ ending: ConnectionEnding, _ known: TrackedConnection?, at now: Moment
    ) -> [ObservationEffect] {
        // Those that are not sure have been explained by the counters themselves.
        if !ending.wasEstablished, ending.certainty == .sure { self.ambiguous.connects.explain(ending.outcome) }
        switch ending.outcome {
        case .reset, .aborted, .lost: self.observed.resets += 1
        case .established, .refused, .unreachable, .noAnswer, .notSent, .abandoned, .closed: break
        }
        guard self.counts(report) else { return [] }
        let remote = self.remote(of: report, ending.direction, known)
        let target = self.targets.name(of: remote)
        if ending.wasEstablished {
            if !(known?.flags.contains(.established) ?? false) { self.countOpening(ending.direction, target) }
            self.recorder.end(ending.outcome, ending.direction, target: target)
            self.countTraffic(report, ending, known)
        } else {
            self.recorder.connect(ending.outcome, target: target)
        }
        let answered = ending.outcome.isAnswer(after: known?.stall) ? report.tcp?.silence : nil
        self.remotes.update(remote, at: now.monotonic) { entry in
            entry.outcomes.add(ending.outcome, at: now.monotonic)
            if let answered {
                let roundTrip = report.tcp?.shortestRoundTrip.map { Duration.microseconds(Int64($0)) }
                entry.answer(answered, roundTrip: roundTrip, at: now.monotonic)
            }
        }
        if let answered {
            self.recorder.answer(remote.address, target: target, at: now.wall + (.zero - answered))
        }
        return ending.outcome.isFailure ? self.fail(remote, ending.outcome, at: now.monotonic) : []
    }

    private mutating func countOpening(_ direction: ConnectionDirection, _ target: String?) {
        switch direction {
        case .outgoing: self.recorder.connect(.established, target: target)
        case .incoming: self.recorder.accept()
        }
    }

    private mutating func countTraffic(
        _ report: SocketReport, _ ending: ConnectionEnding, _ known: TrackedConnection?
    ) {
        guard let info = report.tcp else { return }
        var connection = known ?? TrackedConnection(report, ending.direction, listNumber: self.table.listNumber)
        self.recorder.traffic(connection.advance(to: info), ending.direction)
        if ending.direction == .outgoing, let sample = info.shortestRoundTrip {
            self.recorder.roundTrip(.microseconds(Int64(sample)), ConnectionScope(report.remote.address))
        }
    }

    // The port that the kernel has forgotten is known if a list showed the connection.
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
        // Nobody will say more.
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

    /// The route to an address was looked up.
    mutating func routed(_ address: IPAddress, _ route: AddressRoute, at now: MonotonicTime) -> [ObservationEffect] {
        self.routes.set(route, for: address)
        var state = self.surroundings(of: address, needsOthers: self.failures.isAnySilent(at: address), at: now)
        // What was asked before the host's paths changed is not kept, but says more than nothing.
        state.verdict = state.verdict ?? route.verdict
        let decided = self.failures.routed(address, state, at: now)
        var effects: [ObservationEffect] = []
        for failure in decided { effects += self.record(failure, at: now) }
        guard !self.groups.isIdle else { return effects }
        return effects + self.setParties(at: now)
    }

    // The others are many, and decide only where nothing came back.
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

    /// Observing begins: what the kernel has counted so far says nothing of what comes.
    mutating func begin(_ counters: TCPCounters) {
        _ = self.ambiguous.connects.assess(by: counters)
        _ = self.ambiguous.unread.assess(by: counters)
    }

    /// A second has passed, in which the kernel counted; nil if it does not say.
    mutating func secondPassed(_ counters: TCPCounters?, at now: Moment) -> [ObservationEffect] {
        self.recorder.count(counters)
        var effects = self.failures.flush(at: now.monotonic).map(ObservationEffect.publish)
        for (report, outcome) in self.ambiguous.connects.assess(by: counters) {
            let ending = ConnectionEnding(
                outcome: outcome, direction: .outgoing, certainty: .likely, wasEstablished: false)
            effects += self.conclude(report, ending, nil, at: now)
        }
        for (end, ending) in self.ambiguous.unread.assess(by: counters) {
            effects += self.conclude(end.report, ending, end.known, at: now)
        }
        return effects
    }
}

extension SocketReport {
    /// The report with the remote's port, which the kernel forgets when it gives up a connect, if a list showed it.
    fileprivate func withRemotePort(of known: TrackedConnection?) -> SocketReport {
        guard self.remote.port == 0, let port = known?.remote.port else { return self }
        var report = self
        report.remote.port = port
        return report
    }
}

extension ConnectionOutcome {
    /// True if nothing came back any more.
    var isSilence: Bool {
        switch self {
        case .noAnswer, .lost: true
        case .established, .refused, .unreachable, .notSent, .abandoned, .closed, .reset, .aborted: false
        }
    }

    /// Whether an end of this kind shows that the remote had answered until then; `stall` is how the connection hung, if
    /// it did.
    ///
    /// While nothing reaches a remote, what it sends is no answer.
    func isAnswer(after stall: ConnectionStall?) -> Bool {
        switch self {
        case .established, .refused, .closed, .reset: true
        case .aborted, .unreachable, .notSent, .abandoned: stall == nil || stall == .window
        case .noAnswer, .lost: false
        }
    }
}
