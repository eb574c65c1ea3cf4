internal import TidegateCore
internal import TidegateTransfer

// What follows when a clock of a task's is due.
extension SessionState {
    mutating func clocksDue(_ record: TaskRecord) {
        record.timer = .off
        self.refreshIdleClock(record)
        for clock in record.clocks.takeDue(at: self.tasks.now) where !record.machine.isOver {
            self.expired(clock, record)
            self.carryOutSteps()
        }
        self.tasks.touch(record)
    }

    // Bytes may have moved since the engine last reported.
    private mutating func refreshIdleClock(_ record: TaskRecord) {
        guard let live = record.live, live.isLaunched, let progress = self.engine.progress(of: live.id) else { return }
        if progress.lastActivity > live.progress.lastActivity { record.clocks.bytesMoved(at: progress.lastActivity) }
    }

    private mutating func expired(_ clock: TaskClocks.Clock, _ record: TaskRecord) {
        let url = record.request.address.textWithoutQuery
        switch clock {
        case .deadline:
            let limit = record.request.deadline?.inSeconds ?? 0
            self.fail(record, .deadlineExceeded, FailureSentence("not done within \(limit) s", of: url))
        case .patience: self.patienceOver(record)
        case .idle:
            let failure: TaskFailure = record.live?.head == nil ? .timedOut : .stalled
            self.giveUpAttempt(record, failure, "nothing moved for \(record.request.idleTimeout.inSeconds) s")
        case .attempt:
            let limit = record.request.attemptTimeout?.inSeconds ?? 0
            self.giveUpAttempt(record, .timedOut, "the attempt took longer than \(limit) s")
        case .pause: self.releaseConnection(record)
        case .backoff: self.tasks.feed(.release(.backoff), to: record)
        case .schedule: self.tasks.feed(.release(.schedule), to: record)
        case .grace: self.graceOver(record)
        case .silence: self.silenceOver(record)
        case .circuit: self.circuitDue(record)
        case .disk: self.tasks.feed(.release(.disk), to: record)
        case .descriptors: self.bodies.descriptorsDue(record, &self.tasks)
        case .budget: self.origins.budgetDue(record, &self.tasks)
        case .expiry: self.expiryDue(record)
        // The active time only bounds retries.
        case .active: break
        }
    }

    private mutating func circuitDue(_ record: TaskRecord) {
        guard let origin = record.retry.waitsForCircuit else { return }
        self.origins.circuitDue(record, &self.tasks)
        self.carryOutSteps()
        self.origins.circuitTurnTaken(record, at: origin, &self.tasks)
    }

    private mutating func patienceOver(_ record: TaskRecord) {
        guard let shut = record.gate.shut, record.waitsAtGate else { return }
        self.leaveGate(record, .timeout)
        record.result.requireUnmet = shut.requirement
        self.fail(record, .gateTimeout, shut.sentence)
    }

    /// Schedules the task's expiry; looked at every minute, because the wall clock may jump.
    mutating func scheduleExpiry(_ record: TaskRecord) {
        guard let expiry = record.request.expires else { return }
        let left = Duration.microseconds(expiry.microseconds - self.requests.wallTime.microseconds)
        self.tasks.schedule(.expiry, of: record, after: min(.seconds(60), max(.zero, left)))
    }

    private mutating func expiryDue(_ record: TaskRecord) {
        guard let expiry = record.request.expires, expiry <= self.requests.wallTime else {
            return self.scheduleExpiry(record)
        }
        let url = record.request.address.textWithoutQuery
        self.fail(record, .deadlineExceeded, FailureSentence("not done before it was too late", of: url))
    }
}
