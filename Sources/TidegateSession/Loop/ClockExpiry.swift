internal import TidegateCore
internal import TidegateTransfer

/// What follows when a clock of a task's is due.
struct ClockExpiry {
    let engine: TransferEngine
    let driver: TaskDriver
    let failures: FailureReporter
    let origins: OriginGuard
    let runner: AttemptRunner
    let completion: AttemptCompletion
    let paths: PathLossHandler
    let bodies: TaskBodies
    let time: any TimeSource

    func timerFired(_ record: TaskRecord) {
        record.timer = .off
        self.refreshIdleClock(record)
        for clock in record.clocks.takeDue(at: self.driver.now) where !record.machine.isOver {
            self.expired(clock, record)
            self.driver.drain()
        }
        self.driver.touch(record)
    }

    // Bytes may have moved since the engine last reported.
    private func refreshIdleClock(_ record: TaskRecord) {
        guard let live = record.live, live.isLaunched, let progress = self.engine.progress(of: live.id) else { return }
        if progress.lastActivity > live.progress.lastActivity { record.clocks.bytesMoved(at: progress.lastActivity) }
    }

    private func expired(_ clock: TaskClocks.Clock, _ record: TaskRecord) {
        let url = record.request.address.textWithoutQuery
        switch clock {
        case .deadline:
            let limit = record.request.deadline?.inSeconds ?? 0
            self.failures.fail(record, .deadlineExceeded, FailureSentence("not done within \(limit) s", of: url))
        case .patience: self.patienceOver(record)
        case .idle:
            let failure: TaskFailure = record.live?.head == nil ? .timedOut : .stalled
            self.completion.abort(record, failure, "nothing moved for \(record.request.idleTimeout.inSeconds) s")
        case .attempt:
            let limit = record.request.attemptTimeout?.inSeconds ?? 0
            self.completion.abort(record, .timedOut, "the attempt took longer than \(limit) s")
        case .pause: self.runner.releaseConnection(record)
        case .backoff: self.driver.feed(.release(.backoff), to: record)
        case .schedule: self.driver.feed(.release(.schedule), to: record)
        case .grace: self.paths.graceOver(record)
        case .silence: self.paths.silenceOver(record)
        case .circuit: self.origins.circuitDue(record)
        case .disk: self.driver.feed(.release(.disk), to: record)
        case .descriptors: self.bodies.descriptorsDue(record)
        case .budget: self.origins.budgetDue(record)
        case .expiry: self.expiryDue(record)
        // The active time only bounds retries.
        case .active: break
        }
    }

    private func patienceOver(_ record: TaskRecord) {
        guard let shut = record.gate.shut, record.waitsAtGate else { return }
        self.failures.leaveGate(record, .timeout)
        record.result.requireUnmet = shut.requirement
        self.failures.fail(record, .gateTimeout, shut.sentence)
    }

    /// Schedules the task's expiry; looked at every minute, because the wall clock may jump.
    func scheduleExpiry(_ record: TaskRecord) {
        guard let expiry = record.request.expires else { return }
        let left = Duration.microseconds(expiry.microseconds - self.time.wall().microseconds)
        self.driver.schedule(.expiry, of: record, after: min(.seconds(60), max(.zero, left)))
    }

    private func expiryDue(_ record: TaskRecord) {
        guard let expiry = record.request.expires, expiry <= self.time.wall() else {
            return self.scheduleExpiry(record)
        }
        let url = record.request.address.textWithoutQuery
        self.failures.fail(record, .deadlineExceeded, FailureSentence("not done before it was too late", of: url))
    }
}
