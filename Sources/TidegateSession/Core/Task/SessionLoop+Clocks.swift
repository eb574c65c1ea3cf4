internal import TidegateCore
internal import TidegateTransfer

/// The tasks' clocks, each task with one timer.
extension SessionLoop {
    // Most tasks are over long before any of their clocks strikes: only who lives that long gets a timer of its own.
    private static let sweepInterval = Duration.milliseconds(50)

    func rearm(_ record: TaskRecord) {
        let due = record.machine.isOver ? nil : record.clocks.nextDue
        // A timer that rings too early only looks again; one that moves with every byte would cost more.
        if let old = record.alarm.due, let due, old <= due { return }
        self.disarm(record)
        guard let due else { return }
        guard due - self.now > SessionLoop.sweepInterval else { return self.arm(record, at: due) }
        record.alarm = .noted(due: due)
        if self.unswept.isEmpty {
            _ = self.engine.schedule(after: SessionLoop.sweepInterval, token: SessionTimer.sweep.token)
        }
        self.unswept.append(record.number)
    }

    /// Sets the timers of the tasks that are still there.
    func sweep() {
        for number in self.unswept {
            guard let record = self.records[number], case .noted(let due) = record.alarm else { continue }
            self.arm(record, at: due)
        }
        self.unswept.removeAll(keepingCapacity: self.unswept.count <= 4096)
    }

    private func arm(_ record: TaskRecord, at due: MonotonicTime) {
        let timer = self.engine.schedule(at: due, token: SessionTimer.task(record.number).token)
        record.alarm = .set(timer, due: due)
    }

    func disarm(_ record: TaskRecord) {
        if case .set(let timer, _) = record.alarm { self.engine.cancel(timer) }
        record.alarm = .off
    }

    func alarmRang(_ record: TaskRecord) {
        record.alarm = .off
        self.freshenIdleClock(record)
        for clock in record.clocks.strike(at: self.now) where !record.machine.isOver {
            self.struck(clock, record)
        }
        self.settle(record)
    }

    // Bytes may have moved since the engine last told.
    private func freshenIdleClock(_ record: TaskRecord) {
        guard let live = record.attempt, live.isLaunched, let progress = self.engine.progress(of: live.id) else {
            return
        }
        if progress.lastActivity > live.progress.lastActivity { record.clocks.bytesMoved(at: progress.lastActivity) }
    }

    private func struck(_ clock: TaskClocks.Clock, _ record: TaskRecord) {
        switch clock {
        case .deadline:
            let limit = record.request.deadline?.inSeconds ?? 0
            self.fail(record, .deadlineExceeded, "\(self.name(record)): not done within \(limit) s")
        case .patience: self.patienceOver(record)
        case .idle: self.stalled(record, "nothing moved for \(record.request.idleTimeout.inSeconds) s")
        case .attempt:
            let limit = record.request.attemptTimeout?.inSeconds ?? 0
            self.conclude(record, self.takeOff(record, .timedOut, "the attempt took longer than \(limit) s"))
        case .pause: self.giveBack(record)
        case .backoff: self.feed(.release(.backoff), to: record)
        case .schedule: self.feed(.release(.schedule), to: record)
        case .grace: self.graceOver(record)
        case .silence: self.silenceOver(record)
        case .circuit: self.circuitDue(record)
        case .disk: self.feed(.release(.disk), to: record)
        case .budget: self.budgetDue(record)
        case .expiry: self.expiryDue(record)
        // The active time only bounds retries.
        case .active: break
        }
    }

    /// Lets the task end when it is too late for it; the wall clock may jump, so it is looked at every minute.
    func appointExpiry(_ record: TaskRecord) {
        guard let expiry = record.request.expires else { return }
        let left = Duration.microseconds(expiry.microseconds - self.surroundings.time.wall().microseconds)
        record.clocks.appoint(.expiry, at: self.now + min(.seconds(60), max(.zero, left)))
    }

    private func expiryDue(_ record: TaskRecord) {
        guard let expiry = record.request.expires, expiry <= self.surroundings.time.wall() else {
            return self.appointExpiry(record)
        }
        self.fail(record, .deadlineExceeded, "\(self.name(record)): not done before it was too late")
    }

    private func stalled(_ record: TaskRecord, _ words: String) {
        guard let live = record.attempt else { return }
        let failure: TaskFailure = live.head == nil ? .timedOut : .stalled
        self.conclude(record, self.takeOff(record, failure, words))
    }

    private func patienceOver(_ record: TaskRecord) {
        guard let shut = record.shut, record.waitsAtGate else { return }
        self.leaveGate(record, .timeout)
        record.tally.requireUnmet = shut.requirement
        self.fail(record, .gateTimeout, shut.words)
    }

    private func name(_ record: TaskRecord) -> String { record.request.address.textWithoutQuery }
}
