internal import TidegateCore
internal import TidegateTransfer

/// Takes a runnable task to its attempt, and handles lost or changed paths of attempts.
enum GateRules {
    /// Admits a runnable task past its server's pause, its origin's circuit and its gate to a connection, or holds it
    /// at one of them.
    static func seek(_ record: TaskRecord, in session: inout SessionState) {
        if let problem = session.bodies.prepare(record) {
            return EndRules.fail(record, problem.failure, problem.sentence, in: &session)
        }
        if session.admission.isDraining { return session.tasks.feed(.hold(.drain, detail: nil), to: record) }
        let url = record.hop.url
        if record.policies.plainTLS == nil, let problem = record.policies.tls.refusal(of: url) {
            let failure: TaskFailure = record.attempt.redirects > 0 ? .redirectRefused : .invalidRequest
            return EndRules.fail(record, failure, FailureSentence(problem, of: url.textWithoutQuery), in: &session)
        }
        record.attempt.proxy = record.policies.isDirect ? nil : record.policies.proxy.proxy(for: url)
        let state = session.gates.attach(record.number, &record.gate, to: record.attempt.proxy?.target ?? url.target)
        if session.origins.holds(record, &session.tasks, at: session.requests.wallTime) { return }
        guard record.policies.gate.isOpen || state.known != nil else {
            return session.gates.awaitVerdict(record.number, &record.gate, at: state)
        }
        let isRepeated = record.machine.attempts > 0 || record.download.partial.offset > 0
        if isRepeated, record.mustConfirm, !record.attempt.followsRedirect {
            session.gates.confirm(record.number, at: state)
            return session.tasks.feed(.hold(.constraint, detail: "checking whether this host is online"), to: record)
        }
        switch session.gates.evaluate(record.policies.gate, at: state) {
        case .open: self.passGate(record, in: &session)
        case .shut(let shut):
            session.gates.wait(record.number, &record.gate, at: state, for: shut, now: session.tasks.now)
            session.tasks.feed(.hold(shut.reason, detail: shut.message), to: record)
        }
    }

    private static func passGate(_ record: TaskRecord, in session: inout SessionState) {
        session.leaveGate(record, record.gate.waitBegan == nil ? .immediate : .delayed)
        session.tasks.feed(session.admission.join(record) ? .admit : .hold(.concurrency, detail: nil), to: record)
    }

    static func stopSeeking(_ record: TaskRecord, in session: inout SessionState) {
        if record.retry.probing != nil, !record.machine.isHeld(for: .concurrency) {
            session.origins.leaveProbe(record, &session.tasks)
        }
        if record.gate.isListed { record.target?.awaitingVerdict.remove(record.number) }
        session.admission.releaseConnection(record, &session.tasks)
    }

    // MARK: - Verdicts

    /// Reports of the path source and the resolver.
    static func gateReported(_ event: PathGate.Event, _ target: TargetState, in session: inout SessionState) {
        switch event {
        case .verdict(let verdict): self.verdictArrived(verdict, at: target, in: &session)
        case .resolved(let lookup, let result): AttemptRules.resolved(result, lookup: lookup, of: target, in: &session)
        case .confirmed(let number):
            if let record = session.tasks[number] { self.confirmed(record, target, in: &session) }
        }
    }

    // The requirement `online` has a new answer: the attempt may begin, or its body is a server's.
    private static func confirmed(_ record: TaskRecord, _ target: TargetState, in session: inout SessionState) {
        record.gate.isConfirmed = true
        guard record.machine.phase == .finishing else {
            return session.tasks.feed(.release(.constraint), to: record)
        }
        guard case .shut(let shut) = session.gates.evaluate(record.policies.gate, at: target) else {
            return EndRules.commit(record, in: &session)
        }
        EndRules.refuse(record, for: shut, in: &session)
    }

    static func targetTimerFired(_ timer: PathTimer, _ target: TargetState, in session: inout SessionState) {
        target.timers[timer] = nil
        session.gates.timerFired(timer, of: target)
        switch timer {
        case .firstVerdict: self.evaluateWaiting(at: target, in: &session)
        case .canary: session.admission.canaryDue(of: target, &session.tasks)
        case .close: break
        }
    }

    // Attempts on a lost path end before others start.
    private static func verdictArrived(_ verdict: TargetVerdict, at state: TargetState, in session: inout SessionState)
    {
        let known = state.update(verdict)
        session.gates.cancel(.firstVerdict, of: state)
        let isStale = state.pooled.isStale(
            by: known, generation: session.pool.current, grace: session.configuration.lossGrace, at: session.tasks.now)
        if isStale { session.pool.markStale() }
        for number in state.tasks.values.sorted() {
            guard let record = session.tasks[number], record.isUnderWay else { continue }
            // The response is complete, and only a hook's decision is missing.
            if case .disposition(_, .some)? = record.delegate?.question { continue }
            self.pathMayHaveChanged(under: record, state, in: &session)
        }
        self.evaluateWaiting(at: state, in: &session)
    }

    // Evaluates waiting tasks after a changed verdict or another changed input of their gates.
    private static func evaluateWaiting(at state: TargetState, in session: inout SessionState) {
        for number in state.awaitingVerdict.removeAll() {
            guard let record = session.tasks[number], record.machine.phase == .seeking else { continue }
            self.seek(record, in: &session)
        }
        var opened: [TaskRecord] = []
        for number in state.waiting.all {
            guard let record = session.tasks[number] else { continue }
            switch session.gates.evaluate(record.policies.gate, at: state) {
            case .open: opened.append(record)
            case .shut(let shut): self.changeHold(record, to: shut, in: &session)
            }
        }
        session.admission.release(opened, from: state, &session.tasks)
    }

    // The gate stays shut, but for another kind of reason.
    private static func changeHold(_ record: TaskRecord, to shut: GateEvaluator.Shut, in session: inout SessionState) {
        guard let old = record.gate.shut, old.reason != shut.reason else { return record.gate.shut = shut }
        record.gate.shut = shut
        session.tasks.feed(.hold(shut.reason, detail: shut.message), to: record)
        session.tasks.feed(.release(old.reason), to: record)
    }

    // MARK: - Paths under attempts

    private static func pathMayHaveChanged(
        under record: TaskRecord, _ state: TargetState, in session: inout SessionState
    ) {
        if let live = record.live {
            let remote = live.contact?.remote
            let change = session.gates.change(
                from: live.path.current, local: live.contact?.local, remote: remote, at: state)
            live.path.learned(state.verdict(for: remote).path)
            switch change {
            case .moved: self.leavePath(record, state, in: &session)
            case .down: self.beginGrace(record, state, in: &session)
            case .back: self.endGrace(record, in: &session)
            case .none: break
            }
        }
        guard record.isUnderWay, AttemptRules.mayAbort(record, in: session),
            case .shut(let shut) = session.gates.evaluate(record.policies.gate, at: state), shut.reason == .constraint,
            shut.requirement != .online
        else { return }
        self.hold(record, at: state, for: shut, in: &session)
    }

    // Leaves immediately: the connection cannot deliver any more data.
    private static func leavePath(_ record: TaskRecord, _ state: TargetState, in session: inout SessionState) {
        // Attempts of an older pool have no connection in this one; an attempt that is not launched is still resolving
        // a name.
        if let live = record.live, live.pool == session.pool.current || !live.isLaunched { session.pool.markStale() }
        record.clocks.cancel(.grace)
        record.clocks.cancel(.silence)
        guard AttemptRules.mayRepeat(record, in: session) else {
            let message = "the path was lost after the request had been sent, and it may not be sent twice"
            return AttemptRules.giveUpAttempt(record, .outcomeUnknown, message, in: &session)
        }
        guard !AttemptRules.isDeliveredForGood(record, in: session) else {
            return record.failTruncated(
                AttemptRules.abort(record, .truncated, "the path was lost", in: &session), in: &session)
        }
        switch session.gates.evaluate(record.policies.gate, at: state) {
        case .open: session.tasks.feed(.changePath, to: record)
        case .shut(let shut): self.hold(record, at: state, for: shut, in: &session)
        }
    }

    private static func hold(
        _ record: TaskRecord, at state: TargetState, for shut: GateEvaluator.Shut, in session: inout SessionState
    ) {
        session.gates.wait(record.number, &record.gate, at: state, for: shut, now: session.tasks.now)
        session.tasks.feed(
            shut.reason == .path ? .losePath(detail: shut.message) : .hold(shut.reason, detail: shut.message),
            to: record)
    }

    private static func beginGrace(_ record: TaskRecord, _ state: TargetState, in session: inout SessionState) {
        // A task that requires no path does not depend on one.
        guard !record.policies.gate.isOpen, !record.clocks.isScheduled(.grace) else { return }
        record.clocks.cancel(.silence)
        // A connection that is not established yet has nothing to lose.
        let grace = record.live?.contact == nil ? .zero : session.configuration.lossGrace
        session.tasks.schedule(.grace, of: record, after: grace)
        if case .shut(let shut) = session.gates.evaluate(record.policies.gate, at: state) {
            record.live?.path.stall = shut.message
        }
        session.tasks.touch(record)
        if grace == .zero { self.graceOver(record, in: &session) }
    }

    private static func endGrace(_ record: TaskRecord, in session: inout SessionState) {
        guard record.clocks.isScheduled(.grace) else { return }
        record.clocks.cancel(.grace)
        record.live?.path.stall = nil
        session.tasks.schedule(.silence, of: record, after: session.configuration.silenceAfterReturn)
        record.live?.path.returned = session.tasks.now
        session.tasks.touch(record)
    }

    /// Handles a path that has been down for too long.
    static func graceOver(_ record: TaskRecord, in session: inout SessionState) {
        // A response that cannot be requested again is awaited as long as its source address exists.
        guard record.isUnderWay, AttemptRules.mayAbort(record, in: session), let target = record.target else { return }
        self.leavePath(record, target, in: &session)
    }

    /// Checks a connection some time after its path came back: it must have moved data since, or is given up.
    static func silenceOver(_ record: TaskRecord, in session: inout SessionState) {
        guard let live = record.live, let target = record.target, let returned = live.path.returned else { return }
        live.path.returned = nil
        let lastByte = session.engine.progress(of: live.id)?.lastActivity ?? live.progress.lastActivity
        guard lastByte <= returned, record.machine.phase == .running, AttemptRules.mayAbort(record, in: session) else {
            return
        }
        self.leavePath(record, target, in: &session)
    }
}
