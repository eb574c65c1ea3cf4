internal import TidegateCore
internal import TidegateTransfer

/// Losing the path under running attempts, and network epochs.
extension SessionLoop {
    private enum Change {
        case none
        /// The source address is gone, or packets take another way.
        case moved
        /// Nothing goes out now, but the address is still there.
        case down
        /// The same way as before.
        case back
    }

    func pathMayHaveChanged(at desk: TargetState) {
        self.watchPool(of: desk)
        for number in desk.members.sorted() {
            guard let record = self.records[number], record.attempt != nil, !self.hasEnded(record) else { continue }
            self.pathMayHaveChanged(under: record, desk)
        }
    }

    // Everything is here, and only a hook has not said what becomes of it.
    private func hasEnded(_ record: TaskRecord) -> Bool {
        if case .disposition(_, .some)? = record.extras?.question { true } else { false }
    }

    private func pathMayHaveChanged(under record: TaskRecord, _ desk: TargetState) {
        switch self.change(under: record, desk) {
        case .moved: self.leavePath(record, desk)
        case .down: self.beginGrace(record, desk)
        case .back: self.endGrace(record)
        case .none: break
        }
        guard record.attempt != nil, self.mayLeave(record), case .shut(let shut) = self.judge(record, desk),
            shut.reason == .constraint, shut.requirement != .online
        else { return }
        self.hold(record, at: desk, for: shut)
    }

    private func change(under record: TaskRecord, _ desk: TargetState) -> Change {
        guard let live = record.attempt else { return .none }
        let verdict = desk.verdict(for: live.contact?.remote)
        if let local = live.contact?.local, !self.surroundings.paths.holdsAddress(local) { return .moved }
        guard verdict.level != .unknown else { return .none }
        guard verdict.level >= .routed, let path = verdict.path else { return .down }
        if let used = live.path, !used.isSamePath(as: path) { return .moved }
        return .back
    }

    /// Leaves at once: the connection cannot bring anything any more.
    func leavePath(_ record: TaskRecord, _ desk: TargetState) {
        // Attempts of an older epoch have no connection in the pool of this one; those without one still ask for a name.
        if let live = record.attempt, live.epoch == self.engine.epoch || !live.isLaunched { self.epochIsStale = true }
        record.clocks.appoint(.grace, at: nil)
        record.clocks.appoint(.silence, at: nil)
        guard self.mayRepeat(record) else {
            let words = "the path was lost after the request had been sent, and it may not be sent twice"
            return self.conclude(record, self.takeOff(record, .outcomeUnknown, words))
        }
        guard !self.isDeliveredForGood(record) else {
            return self.breakOff(record, self.takeOff(record, .truncated, "the path was lost"))
        }
        switch self.judge(record, desk) {
        case .open: self.feed(.changePath, to: record)
        case .shut(let shut): self.hold(record, at: desk, for: shut)
        }
    }

    private func hold(_ record: TaskRecord, at desk: TargetState, for shut: GateEvaluator.Shut) {
        self.wait(record, at: desk, for: shut)
        if shut.reason == .path {
            self.feed(.losePath(detail: shut.words), to: record)
        } else {
            self.feed(.hold(shut.reason, detail: shut.words), to: record)
        }
    }

    private func beginGrace(_ record: TaskRecord, _ desk: TargetState) {
        // A task that asks for no path is not asked whether there is one.
        guard !record.gate.isOpen, !record.clocks.hasAppointment(.grace) else { return }
        record.clocks.appoint(.silence, at: nil)
        // Nothing is lost with a connection that does not stand yet.
        let grace = record.attempt?.contact == nil ? .zero : self.configuration.lossGrace
        record.clocks.appoint(.grace, at: self.now + grace)
        if grace == .zero { self.graceOver(record) } else { self.settle(record) }
    }

    private func endGrace(_ record: TaskRecord) {
        guard record.clocks.hasAppointment(.grace) else { return }
        record.clocks.appoint(.grace, at: nil)
        record.clocks.appoint(.silence, at: self.now + self.configuration.silenceAfterReturn)
        record.attempt?.returned = self.now
        self.settle(record)
    }

    func graceOver(_ record: TaskRecord) {
        // An answer that cannot be asked for again is waited for as long as its address lasts.
        guard record.attempt != nil, self.mayLeave(record), let desk = record.desk else { return }
        self.leavePath(record, desk)
    }

    /// The path has been back for a while: the connection has moved since, or is given up.
    func silenceOver(_ record: TaskRecord) {
        guard let live = record.attempt, let desk = record.desk, let returned = live.returned else { return }
        record.attempt?.returned = nil
        let lastByte = self.engine.progress(of: live.id)?.lastActivity ?? live.progress.lastActivity
        guard lastByte <= returned, record.machine.phase == .running, self.mayLeave(record) else { return }
        self.leavePath(record, desk)
    }

    // MARK: - Epochs

    // Connections that nobody uses now are lost as well when their way is.
    private func watchPool(of desk: TargetState) {
        guard let verdict = desk.verdict?.verdict, verdict.level != .unknown else { return }
        guard verdict.level >= .routed, let path = verdict.path else {
            if desk.lostSince == nil { desk.lostSince = self.now }
            return
        }
        let outage = desk.lostSince.map { self.now - $0 } ?? .zero
        desk.lostSince = nil
        guard let used = desk.usedPath, desk.usedEpoch == self.engine.epoch else { return }
        if !used.isSamePath(as: path) || outage > self.configuration.lossGrace { self.epochIsStale = true }
    }

    /// Begins the epoch that a change has asked for, before anything else is started.
    func settleEpoch() {
        guard self.epochIsStale else { return }
        self.epochIsStale = false
        self.engine.beginEpoch()
        self.surroundings.resolver.invalidate()
        for desk in self.desksByNumber.values {
            // What is being asked over the old network may never be answered, or be answered for the wrong one.
            let isAsking = if case .asking = desk.addresses { true } else { false }
            desk.addresses = .unknown
            if isAsking { self.askAnew(desk) }
            desk.used = nil
        }
        self.surroundings.bus.publish(.session(.epochBegan(number: self.engine.epoch)))
    }
}
