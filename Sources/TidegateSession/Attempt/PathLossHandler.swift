internal import TidegateCore
internal import TidegateTransfer

/// What losing or changing the path does to running attempts and to the connection pool; also suspensions, which end
/// attempts in the same way.
final class PathLossHandler {
    private let engine: TransferEngine
    private let driver: TaskDriver
    private let table: TaskTable
    private let gate: PathGate
    private let runner: AttemptRunner
    private let admission: AttemptAdmission
    private let completion: AttemptCompletion
    private let hooks: HookQuestions
    private let failures: FailureReporter
    private let origins: OriginGuard
    private let configuration: SessionConfiguration

    init(
        engine: TransferEngine, driver: TaskDriver, table: TaskTable, gate: PathGate, runner: AttemptRunner,
        admission: AttemptAdmission, completion: AttemptCompletion, hooks: HookQuestions, failures: FailureReporter,
        origins: OriginGuard, configuration: SessionConfiguration
    ) {
        self.engine = engine
        self.driver = driver
        self.table = table
        self.gate = gate
        self.runner = runner
        self.admission = admission
        self.completion = completion
        self.hooks = hooks
        self.failures = failures
        self.origins = origins
        self.configuration = configuration
    }

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
        state.update(verdict)
        self.gate.cancel(.firstVerdict, of: state)
        if self.gate.poolIsStale(
            of: state, generation: self.runner.generation, grace: self.configuration.lossGrace, at: self.driver.now)
        {
            self.runner.markPoolStale()
        }
        for number in state.tasks.values.sorted() {
            guard let record = self.table[number], record.live != nil, !self.hasEnded(record) else { continue }
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
            let change = self.gate.change(
                from: live.path, local: live.contact?.local, remote: live.contact?.remote, at: state)
            switch change {
            case .moved: self.leavePath(record, state)
            case .down: self.beginGrace(record, state)
            case .back: self.endGrace(record)
            case .none: break
            }
        }
        guard record.live != nil, self.mayAbort(record),
            case .shut(let shut) = self.gate.evaluate(record.gatePolicy, at: state), shut.reason == .constraint,
            shut.requirement != .online
        else { return }
        self.hold(record, at: state, for: shut)
    }

    // Leaves at once: the connection cannot bring anything any more.
    private func leavePath(_ record: TaskRecord, _ state: TargetState) {
        // Attempts of an older pool have no connection in this one; those without any still look up a name.
        if let live = record.live, live.pool == self.runner.generation || !live.isLaunched {
            self.runner.markPoolStale()
        }
        record.clocks.cancel(.grace)
        record.clocks.cancel(.silence)
        guard self.mayRepeat(record) else {
            let message = "the path was lost after the request had been sent, and it may not be sent twice"
            return self.abort(record, .outcomeUnknown, message)
        }
        guard !self.isDeliveredForGood(record) else {
            return self.completion.failTruncated(
                record, self.runner.abort(record, .truncated, "the path was lost"))
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
        if grace == .zero { self.graceOver(record) } else { self.driver.settle(record) }
    }

    private func endGrace(_ record: TaskRecord) {
        guard record.clocks.isScheduled(.grace) else { return }
        record.clocks.cancel(.grace)
        self.driver.schedule(.silence, of: record, after: self.configuration.silenceAfterReturn)
        record.live?.returned = self.driver.now
        self.driver.settle(record)
    }

    /// The path has been down for too long.
    func graceOver(_ record: TaskRecord) {
        // A response that cannot be asked for again is waited for as long as its address lasts.
        guard record.live != nil, self.mayAbort(record), let target = record.target else { return }
        self.leavePath(record, target)
    }

    /// The path has been back for a while: the connection has moved since, or is given up.
    func silenceOver(_ record: TaskRecord) {
        guard let live = record.live, let target = record.target, let returned = live.returned else { return }
        live.returned = nil
        let lastByte = self.engine.progress(of: live.id)?.lastActivity ?? live.progress.lastActivity
        guard lastByte <= returned, record.machine.phase == .running, self.mayAbort(record) else { return }
        self.leavePath(record, target)
    }

    // MARK: - Ending attempts

    /// True if the attempt may be ended and another one made: neither its request nor its body comes twice.
    private func mayAbort(_ record: TaskRecord) -> Bool {
        self.mayRepeat(record) && !self.isDeliveredForGood(record)
    }

    // True if the attempt's request may be sent once more, and can be.
    private func mayRepeat(_ record: TaskRecord) -> Bool {
        (record.request.isIdempotent || record.live?.contact == nil) && self.hooks.canSendBody(record)
    }

    // True if a part of the body has gone where it cannot be taken back from, and cannot be continued.
    private func isDeliveredForGood(_ record: TaskRecord) -> Bool {
        guard record.isStream, record.download.partial.validator == nil, let live = record.live else { return false }
        let progress = self.engine.progress(of: live.id) ?? live.progress
        return record.download.partial.offset > 0 || progress.received > 0
    }

    /// Ends an attempt, and decides what follows.
    func abort(_ record: TaskRecord, _ failure: TaskFailure, _ message: String) {
        guard record.live != nil else { return }
        self.completion.attemptDidFinish(record, self.runner.abort(record, failure, message))
    }

    /// The machine has left an attempt behind that is still running.
    func detach(_ record: TaskRecord, _ cause: TaskMachine.DetachCause) {
        guard record.live != nil else { return }
        self.origins.leaveProbe(record)
        let (failure, text): (TaskFailure, String) =
            switch cause {
            case .suspended: (.cancelled, "the task was suspended")
            case .pathLost: (.stalled, "the path was lost")
            case .ended: (record.result.failure ?? .cancelled, record.result.explanation ?? "the task ended")
            }
        let end = self.runner.abort(record, failure, text)
        let isCharged = cause == .ended && failure != .cancelled
        if isCharged { record.retry.counter.charge(madeProgress: false) }
        self.failures.publishFailure(record, end, failure, isCharged: isCharged)
        record.resetRedirects()
    }

    // MARK: - Suspensions

    func pause(_ record: TaskRecord) {
        guard let live = record.live, live.isLaunched, self.engine.pause(live.id) else {
            return self.releaseConnection(record)
        }
        self.driver.schedule(.pause, of: record, after: self.configuration.pauseLimit)
    }

    func unpause(_ record: TaskRecord) {
        record.clocks.cancel(.pause)
        if let live = record.live { self.engine.unpause(live.id) }
    }

    /// Gives the connection of a suspended task back, if its request may be sent again.
    func releaseConnection(_ record: TaskRecord) {
        if self.mayAbort(record) { self.driver.feed(.releaseConnection, to: record) }
    }
}
