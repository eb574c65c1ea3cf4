internal import TidegateCore
internal import TidegateTransfer

/// Handles the clocks of tasks when they are due.
enum ClockRules {
    static func clocksDue(_ record: TaskRecord, in session: inout SessionState) {
        record.timer = .off
        self.refreshIdleClock(record, in: &session)
        for clock in record.clocks.takeDue(at: session.tasks.now) where !record.machine.isOver {
            self.expired(clock, record, in: &session)
            session.carryOutSteps()
        }
        session.tasks.touch(record)
    }

    // Bytes may have moved since the engine last reported.
    private static func refreshIdleClock(_ record: TaskRecord, in session: inout SessionState) {
        guard let live = record.live, live.isLaunched, let progress = session.engine.progress(of: live.id) else {
            return
        }
        if progress.lastActivity > live.progress.lastActivity { record.clocks.bytesMoved(at: progress.lastActivity) }
    }

    private static func expired(_ clock: TaskClocks.Clock, _ record: TaskRecord, in session: inout SessionState) {
        let url = record.request.address.textWithoutQuery
        switch clock {
        case .deadline:
            let limit = record.request.options.deadline?.shortText ?? ""
            EndRules.fail(
                record, .deadlineExceeded, FailureSentence("not done within \(limit)", of: url), in: &session)
        case .patience: self.patienceOver(record, in: &session)
        case .idle:
            if let head = record.live?.head, head.range == .reject(.httpStatus) {
                // The status decides without its body.
                return AttemptRules.giveUpAttempt(
                    record, .httpStatus, "the server answered \(head.status)", in: &session)
            }
            self.giveUpMoving(
                record, "nothing moved for \(record.request.options.idleTimeout.shortText)", in: &session)
        case .attempt:
            let limit = record.request.options.attemptTimeout?.shortText ?? ""
            AttemptRules.giveUpAttempt(record, .timedOut, "the attempt took longer than \(limit)", in: &session)
        case .pause: AttemptRules.releaseConnection(record, in: &session)
        case .backoff: session.tasks.feed(.release(.backoff), to: record)
        case .schedule: session.tasks.feed(.release(.schedule), to: record)
        case .grace: GateRules.graceOver(record, in: &session)
        case .silence: GateRules.silenceOver(record, in: &session)
        case .redirect where record.machine.phase == .running && record.live?.head != nil:
            AttemptRules.giveUpAttempt(record, .httpStatus, "the server answered with a redirect", in: &session)
        case .redirect: break
        case .speed: self.speedDue(record, in: &session)
        case .circuit: self.circuitDue(record, in: &session)
        case .disk: session.tasks.feed(.release(.disk), to: record)
        case .descriptors: session.bodies.descriptorsDue(record, &session.tasks)
        case .budget: session.origins.budgetDue(record, &session.tasks)
        case .expiry: self.expiryDue(record, in: &session)
        }
    }

    private static func giveUpMoving(_ record: TaskRecord, _ message: String, in session: inout SessionState) {
        let failure: TaskFailure = record.live?.head == nil ? .timedOut : .stalled
        AttemptRules.giveUpAttempt(record, failure, message, in: &session)
    }

    private static func speedDue(_ record: TaskRecord, in session: inout SessionState) {
        guard let limit = record.request.options.lowestBytesPerSecond, let live = record.live else { return }
        let now = session.tasks.now
        let progress = session.engine.progress(of: live.id) ?? live.progress
        let time = record.request.options.slowTime ?? SpeedWatch.patience
        // While this side does not read, the engine reports activity in this moment.
        let isHeld =
            record.machine.phase != .running || record.clocks.isScheduled(.grace) || progress.lastActivity > now
        live.speed?.check(progress, limit, isHeld: isHeld, hasHead: live.head != nil, at: now)
        guard let slow = live.speed?.slowTime(at: now), slow >= time else {
            return session.tasks.schedule(.speed, of: record, after: SpeedWatch.interval)
        }
        self.giveUpMoving(
            record, "fewer than \(limit) bytes per second moved for \(time.shortText)", in: &session)
    }

    private static func circuitDue(_ record: TaskRecord, in session: inout SessionState) {
        guard let origin = record.retry.waitsForCircuit else { return }
        session.origins.leaveCircuit(record, &session.tasks)
        session.tasks.feed(.release(.circuit), to: record)
        session.carryOutSteps()
        // A task that is suspended, or held by something else as well, does not test the origin; the next one does.
        if record.retry.probing == nil { session.origins.nextAtCircuit(of: origin, &session.tasks) }
    }

    private static func patienceOver(_ record: TaskRecord, in session: inout SessionState) {
        guard let shut = record.gate.shut, record.machine.waitsAtGate else { return }
        session.leaveGate(record, .timeout)
        record.result.requireUnmet = shut.requirement
        EndRules.fail(record, .gateTimeout, shut.sentence, in: &session)
    }

    /// Schedules the task's expiry; checked every minute, because the wall clock may jump.
    static func scheduleExpiry(_ record: TaskRecord, in session: inout SessionState) {
        guard let expiry = record.request.options.expires else { return }
        let left = Duration.microseconds(expiry.microseconds - session.requests.wallTime.microseconds)
        session.tasks.schedule(.expiry, of: record, after: min(.seconds(60), max(.zero, left)))
    }

    private static func expiryDue(_ record: TaskRecord, in session: inout SessionState) {
        guard let expiry = record.request.options.expires, expiry <= session.requests.wallTime else {
            return self.scheduleExpiry(record, in: &session)
        }
        let url = record.request.address.textWithoutQuery
        EndRules.fail(
            record, .deadlineExceeded, FailureSentence("expired before it was done", of: url), in: &session)
    }
}
