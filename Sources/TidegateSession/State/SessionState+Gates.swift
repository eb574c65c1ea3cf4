internal import TidegateCore
internal import TidegateTransfer

// What leads a runnable task to its attempt, and what losing or changing the path does to attempts.
extension SessionState {
    /// A task is runnable: admits it past what its server asked for, its origin's circuit and its gate, and to a
    /// connection; or holds it for one of them.
    mutating func seek(_ record: TaskRecord) {
        if let problem = self.bodies.prepare(record) {
            return self.fail(record, problem.failure, problem.sentence)
        }
        if self.admission.isDraining { return self.tasks.feed(.hold(.drain, detail: nil), to: record) }
        let url = record.hop.url
        if let problem = (record.request.tls ?? self.configuration.tls).refusal(of: url) {
            let failure: TaskFailure = record.attempt.redirects > 0 ? .redirectRefused : .invalidRequest
            return self.fail(record, failure, FailureSentence(problem, of: url.textWithoutQuery))
        }
        record.attempt.proxy = (record.request.proxy ?? self.configuration.proxy).proxy(for: url)
        let state = self.gates.attach(record.number, &record.gate, to: record.attempt.proxy?.target ?? url.target)
        if self.origins.holds(record, &self.tasks) { return }
        guard record.gatePolicy.isOpen || state.known != nil else {
            return self.gates.awaitVerdict(record.number, &record.gate, at: state)
        }
        switch self.gates.evaluate(record.gatePolicy, at: state) {
        case .open: self.passGate(record)
        case .shut(let shut):
            self.wait(record, at: state, for: shut)
            self.tasks.feed(.hold(shut.reason, detail: shut.message), to: record)
        }
    }

    private mutating func passGate(_ record: TaskRecord) {
        self.leaveGate(record, record.gate.waitBegan == nil ? .immediate : .delayed)
        self.tasks.feed(self.admission.join(record) ? .admit : .hold(.concurrency, detail: nil), to: record)
    }

    mutating func stopSeeking(_ record: TaskRecord) {
        if record.retry.probing != nil, !record.machine.isHeld(for: .concurrency) {
            self.origins.leaveProbe(record, &self.tasks)
        }
        self.gates.stopAwaitingVerdict(record.number, record.gate)
        self.admission.releaseConnection(record, &self.tasks)
    }

    private func wait(_ record: TaskRecord, at state: TargetState, for shut: GateEvaluator.Shut) {
        self.gates.wait(record.number, &record.gate, at: state, for: shut, now: self.tasks.now)
    }

    /// Publishes how the task left its gate, once for every attempt.
    mutating func leaveGate(_ record: TaskRecord, _ result: TaskEvent.GateResult) {
        if let change = self.gates.leave(record.number, &record.gate, result, now: self.tasks.now) {
            self.tasks.publish(change, record)
        }
    }

    // MARK: - Verdicts

    /// What the path source and the resolver report.
    mutating func gateReported(_ event: PathGate.Event, _ target: TargetState) {
        switch event {
        case .verdict(let verdict): self.verdictArrived(verdict, at: target)
        case .resolved(let lookup, let result): self.resolved(result, lookup: lookup, of: target)
        }
    }

    mutating func fired(_ timer: PathTimer, _ target: TargetState) {
        target.timers[timer] = nil
        self.gates.timerFired(timer, of: target)
        switch timer {
        case .firstVerdict: self.evaluateWaiting(at: target)
        case .canary: self.admission.canaryDue(of: target, &self.tasks)
        case .close: break
        }
    }

    // Attempts on a lost path are ended before others are started.
    private mutating func verdictArrived(_ verdict: TargetVerdict, at state: TargetState) {
        let known = state.update(verdict)
        self.gates.cancel(.firstVerdict, of: state)
        let isStale = state.pooled.isStale(
            by: known, generation: self.pool.current, grace: self.configuration.lossGrace, at: self.tasks.now)
        if isStale { self.pool.markStale() }
        for number in state.tasks.values.sorted() {
            guard let record = self.tasks[number], record.isUnderWay, !self.hasEnded(record) else { continue }
            self.pathMayHaveChanged(under: record, state)
        }
        self.evaluateWaiting(at: state)
    }

    // The verdict of a target, or something else that its gates go by, has changed.
    private mutating func evaluateWaiting(at state: TargetState) {
        for number in self.gates.takeAwaitingVerdict(of: state) {
            guard let record = self.tasks[number], record.machine.phase == .seeking else { continue }
            self.seek(record)
        }
        var opened: [TaskRecord] = []
        for number in state.waiting.all {
            guard let record = self.tasks[number] else { continue }
            switch self.gates.evaluate(record.gatePolicy, at: state) {
            case .open: opened.append(record)
            case .shut(let shut): self.changeHold(record, to: shut)
            }
        }
        self.admission.release(opened, from: state, &self.tasks)
    }

    // The gate stays shut, but for another kind of reason.
    private mutating func changeHold(_ record: TaskRecord, to shut: GateEvaluator.Shut) {
        guard let old = record.gate.shut, old.reason != shut.reason else { return record.gate.shut = shut }
        record.gate.shut = shut
        self.tasks.feed(.hold(shut.reason, detail: shut.message), to: record)
        self.tasks.feed(.release(old.reason), to: record)
    }

    // Everything is here, and only a hook has not said what becomes of it.
    private func hasEnded(_ record: TaskRecord) -> Bool {
        if case .disposition(_, .some)? = record.delegate?.question { true } else { false }
    }

    // MARK: - Paths under attempts

    private mutating func pathMayHaveChanged(under record: TaskRecord, _ state: TargetState) {
        if let live = record.live {
            let remote = live.contact?.remote
            let change = self.gates.change(
                from: live.path.current, local: live.contact?.local, remote: remote, at: state)
            live.path.learned(state.verdict(for: remote).path)
            switch change {
            case .moved: self.leavePath(record, state)
            case .down: self.beginGrace(record, state)
            case .back: self.endGrace(record)
            case .none: break
            }
        }
        guard record.isUnderWay, self.mayAbort(record),
            case .shut(let shut) = self.gates.evaluate(record.gatePolicy, at: state), shut.reason == .constraint,
            shut.requirement != .online
        else { return }
        self.hold(record, at: state, for: shut)
    }

    // Leaves at once: the connection cannot bring anything any more.
    private mutating func leavePath(_ record: TaskRecord, _ state: TargetState) {
        // Attempts of an older pool have no connection in this one; those without any still look up a name.
        if let live = record.live, live.pool == self.pool.current || !live.isLaunched { self.pool.markStale() }
        record.clocks.cancel(.grace)
        record.clocks.cancel(.silence)
        guard self.mayRepeat(record) else {
            let message = "the path was lost after the request had been sent, and it may not be sent twice"
            return self.giveUpAttempt(record, .outcomeUnknown, message)
        }
        guard !self.isDeliveredForGood(record) else {
            return self.failTruncated(record, self.abort(record, .truncated, "the path was lost"))
        }
        switch self.gates.evaluate(record.gatePolicy, at: state) {
        case .open: self.tasks.feed(.changePath, to: record)
        case .shut(let shut): self.hold(record, at: state, for: shut)
        }
    }

    private mutating func hold(_ record: TaskRecord, at state: TargetState, for shut: GateEvaluator.Shut) {
        self.wait(record, at: state, for: shut)
        self.tasks.feed(
            shut.reason == .path ? .losePath(detail: shut.message) : .hold(shut.reason, detail: shut.message),
            to: record)
    }

    private mutating func beginGrace(_ record: TaskRecord, _ state: TargetState) {
        // A task that asks for no path does not depend on there being one.
        guard !record.gatePolicy.isOpen, !record.clocks.isScheduled(.grace) else { return }
        record.clocks.cancel(.silence)
        // Nothing is lost with a connection that does not stand yet.
        let grace = record.live?.contact == nil ? .zero : self.configuration.lossGrace
        self.tasks.schedule(.grace, of: record, after: grace)
        if case .shut(let shut) = self.gates.evaluate(record.gatePolicy, at: state) {
            record.live?.path.stall = shut.message
        }
        self.tasks.touch(record)
        if grace == .zero { self.graceOver(record) }
    }

    private mutating func endGrace(_ record: TaskRecord) {
        guard record.clocks.isScheduled(.grace) else { return }
        record.clocks.cancel(.grace)
        record.live?.path.stall = nil
        self.tasks.schedule(.silence, of: record, after: self.configuration.silenceAfterReturn)
        record.live?.path.returned = self.tasks.now
        self.tasks.touch(record)
    }

    /// The path has been down for too long.
    mutating func graceOver(_ record: TaskRecord) {
        // A response that cannot be asked for again is waited for as long as its address lasts.
        guard record.isUnderWay, self.mayAbort(record), let target = record.target else { return }
        self.leavePath(record, target)
    }

    /// The path has been back for a while: the connection has moved since, or is given up.
    mutating func silenceOver(_ record: TaskRecord) {
        guard let live = record.live, let target = record.target, let returned = live.path.returned else { return }
        live.path.returned = nil
        let lastByte = self.engine.progress(of: live.id)?.lastActivity ?? live.progress.lastActivity
        guard lastByte <= returned, record.machine.phase == .running, self.mayAbort(record) else { return }
        self.leavePath(record, target)
    }
}
