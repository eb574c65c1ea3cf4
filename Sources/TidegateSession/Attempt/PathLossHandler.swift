internal import TidegateCore
internal import TidegateTransfer

/// What losing or changing the path does to running attempts and to the connection pool.
struct PathLossHandler {
    let engine: TransferEngine
    let driver: TaskDriver
    let table: TaskTable
    let gate: PathGate
    let pool: PoolGeneration
    let runner: AttemptRunner
    let reports: AttemptReports
    let admission: AttemptAdmission
    let completion: AttemptCompletion
    let configuration: SessionConfiguration

    // MARK: - Verdicts

    /// What the path source and the resolver report.
    func gate(_ event: PathGate.Event, target number: UInt64) {
        guard let state = self.gate.target(number) else { return }
        switch event {
        case .verdict(let verdict): self.verdictArrived(verdict, at: state)
        case .resolved(let lookup, let result): self.completion.resolved(result, lookup: lookup, of: state)
        }
    }

    func timerFired(_ timer: PathTimer, target number: UInt64) {
        guard let state = self.gate.target(number) else { return }
        state.timers[timer] = nil
        self.gate.timerFired(timer, of: state)
        switch timer {
        case .firstVerdict: self.admission.evaluateWaiting(at: state)
        case .canary: self.admission.canaryDue(of: state)
        case .close: break
        }
    }

    func stop() { self.gate.stop() }

    // A target has a new verdict: attempts on a lost path are ended before others are started.
    private func verdictArrived(_ verdict: TargetVerdict, at state: TargetState) {
        let known = state.update(verdict)
        self.gate.cancel(.firstVerdict, of: state)
        let isStale = state.pooled.isStale(
            by: known, generation: self.pool.current, grace: self.configuration.lossGrace,
            at: self.driver.now)
        if isStale { self.pool.markStale() }
        for number in state.tasks.values.sorted() {
            guard let record = self.table[number], record.isUnderWay, !self.hasEnded(record) else { continue }
            self.pathMayHaveChanged(under: record, state)
        }
        self.admission.evaluateWaiting(at: state)
    }

    // Everything is here, and only a hook has not said what becomes of it.
    private func hasEnded(_ record: TaskRecord) -> Bool {
        if case .disposition(_, .some)? = record.delegate?.hook.question { true } else { false }
    }

    private func pathMayHaveChanged(under record: TaskRecord, _ state: TargetState) {
        if let live = record.live {
            let remote = live.contact?.remote
            let change = self.gate.change(
                from: live.path.current, local: live.contact?.local, remote: remote, at: state)
            live.path.learned(state.verdict(for: remote).path)
            switch change {
            case .moved: self.leavePath(record, state)
            case .down: self.beginGrace(record, state)
            case .back: self.endGrace(record)
            case .none: break
            }
        }
        guard record.isUnderWay, self.runner.mayAbort(record),
            case .shut(let shut) = self.gate.evaluate(record.gatePolicy, at: state), shut.reason == .constraint,
            shut.requirement != .online
        else { return }
        self.hold(record, at: state, for: shut)
    }

    // Leaves at once: the connection cannot bring anything any more.
    private func leavePath(_ record: TaskRecord, _ state: TargetState) {
        // Attempts of an older pool have no connection in this one; those without any still look up a name.
        if let live = record.live, live.pool == self.pool.current || !live.isLaunched {
            self.pool.markStale()
        }
        record.clocks.cancel(.grace)
        record.clocks.cancel(.silence)
        guard self.runner.mayRepeat(record) else {
            let message = "the path was lost after the request had been sent, and it may not be sent twice"
            return self.completion.abort(record, .outcomeUnknown, message)
        }
        guard !self.runner.isDeliveredForGood(record) else {
            return self.completion.failTruncated(
                record, self.reports.abort(record, .truncated, "the path was lost"))
        }
        switch self.gate.evaluate(record.gatePolicy, at: state) {
        case .open: self.driver.feed(.changePath, to: record)
        case .shut(let shut): self.hold(record, at: state, for: shut)
        }
    }

    private func hold(_ record: TaskRecord, at state: TargetState, for shut: GateEvaluator.Shut) {
        self.admission.wait(record, at: state, for: shut)
        if shut.reason == .path {
            self.driver.feed(.losePath(detail: shut.message), to: record)
        } else {
            self.driver.feed(.hold(shut.reason, detail: shut.message), to: record)
        }
    }

    private func beginGrace(_ record: TaskRecord, _ state: TargetState) {
        // A task that asks for no path does not depend on there being one.
        guard !record.gatePolicy.isOpen, !record.clocks.isScheduled(.grace) else { return }
        record.clocks.cancel(.silence)
        // Nothing is lost with a connection that does not stand yet.
        let grace = record.live?.contact == nil ? .zero : self.configuration.lossGrace
        self.driver.schedule(.grace, of: record, after: grace)
        if case .shut(let shut) = self.gate.evaluate(record.gatePolicy, at: state) {
            record.live?.path.stall = shut.message
        }
        if grace == .zero { self.graceOver(record) } else { self.driver.touch(record) }
    }

    private func endGrace(_ record: TaskRecord) {
        guard record.clocks.isScheduled(.grace) else { return }
        record.clocks.cancel(.grace)
        record.live?.path.stall = nil
        self.driver.schedule(.silence, of: record, after: self.configuration.silenceAfterReturn)
        record.live?.path.returned = self.driver.now
        self.driver.touch(record)
    }

    /// The path has been down for too long.
    func graceOver(_ record: TaskRecord) {
        // A response that cannot be asked for again is waited for as long as its address lasts.
        guard record.isUnderWay, self.runner.mayAbort(record), let target = record.target else { return }
        self.leavePath(record, target)
    }

    /// The path has been back for a while: the connection has moved since, or is given up.
    func silenceOver(_ record: TaskRecord) {
        guard let live = record.live, let target = record.target, let returned = live.path.returned else { return }
        live.path.returned = nil
        let lastByte = self.engine.progress(of: live.id)?.lastActivity ?? live.progress.lastActivity
        guard lastByte <= returned, record.machine.phase == .running, self.runner.mayAbort(record) else { return }
        self.leavePath(record, target)
    }
}
