internal import TidegateCore
internal import TidegateTransfer

/// Users' commands to tasks, delayed until the journal's answer for accepted tasks; and the session's reset and end.
enum TaskCommands {
    // The end of the session and a new task may cross on the way here.
    static func record(of task: TransferTask, in session: inout SessionState) -> TaskRecord? {
        guard let record = session.tasks.record(of: task) else { return nil }
        guard session.isCancelling, !record.machine.isOver else { return record }
        self.endHere(record, in: &session)
        return nil
    }

    static func obey(_ command: TaskCommand, _ record: TaskRecord, in session: inout SessionState) {
        switch command {
        case .resume: self.setSuspensions(record, { $0 - 1 }, in: &session)
        case .suspend: self.setSuspensions(record, { $0 + 1 }, in: &session)
        case .cancel(let keepsPartial):
            if keepsPartial { record.ownDelegate.keepsPartial = true }
            self.cancel(record, in: &session)
        case .follow(let reader):
            record.ownDelegate.reader = reader
            record.download.file.map(reader.take)
            // Wakes the reader, which has found no file yet.
            session.tasks.touch(record)
        }
    }

    /// Suspends or resumes a task; an accepted one after the journal has recorded it.
    static func setSuspensions(
        _ record: TaskRecord, _ change: @Sendable (Int) -> Int, done: (@Sendable (JournalError?) -> Void)? = nil,
        in session: inout SessionState
    ) {
        if let state = record.journal, !record.machine.isOver {
            return session.journal.setSuspensions(
                record, state, to: change(state.suspensions), done: done, &session.tasks)
        }
        let isPreserved = record.isPreserved
        if record.journal == nil {
            let suspensions = record.machine.suspendCount
            self.applySuspensions(from: suspensions, to: change(suspensions), record, in: &session)
        }
        if let done { session.tasks.call { done(isPreserved ? .ending : nil) } }
    }

    private static func applySuspensions(from: Int, to: Int, _ record: TaskRecord, in session: inout SessionState) {
        for _ in from..<max(from, to) { self.suspend(record, in: &session) }
        for _ in to..<max(from, to) { self.resume(record, in: &session) }
    }

    private static func resume(_ record: TaskRecord, in session: inout SessionState) {
        if record.result.firstResumed == nil { record.result.firstResumed = session.tasks.now }
        session.tasks.feed(.resume, to: record)
    }

    private static func suspend(_ record: TaskRecord, in session: inout SessionState) {
        session.tasks.feed(.suspend(.user), to: record)
        // A suspended task may never finish its test, so another task tests the origin.
        if record.live == nil { session.origins.leaveProbe(record, &session.tasks) }
        if record.machine.isHeld(for: .concurrency) {
            session.admission.limiter.withdraw(record.number)
            session.tasks.feed(.release(.concurrency), to: record)
        }
    }

    static func cancel(_ record: TaskRecord, in session: inout SessionState) {
        guard !record.machine.isOver else { return }
        session.leaveGate(record, .cancelled)
        session.tasks.feed(.cancel, to: record)
    }

    /// Holds the tasks without an attempt now, and the others before their next attempt.
    static func holdForShutdown(in session: inout SessionState) {
        session.admission.isDraining = true
        for record in session.tasks.all where !record.machine.isSuspended {
            switch record.machine.phase {
            case .idle, .seeking: session.tasks.feed(.hold(.drain, detail: nil), to: record)
            case .running, .paused, .deciding, .finishing, .parked, .ended: break
            }
        }
    }

    // MARK: - Accepted tasks

    /// Starts a task that must be watched before it is resumed; an accepted one continues from the state of an earlier
    /// process.
    static func adopt(_ record: TaskRecord, in session: inout SessionState) {
        if record.request.options.expires != nil { ClockRules.scheduleExpiry(record, in: &session) }
        session.tasks.touch(record)
        guard let state = record.journal else { return }
        let progress = state.task.life.effort
        record.clocks.restore(
            lived: session.journal.livedSoFar(state.task), active: progress?.active ?? .zero,
            waited: progress?.waited ?? .zero)
        record.retry.counter.restore(progress)
        let (now, passed) = (session.tasks.now, session.journal.passed(since: state.task.life))
        if let pause = progress?.pause, pause > passed {
            record.journal?.pausedUntil = now + pause - passed
            session.origins.pause(record.origin, until: now + pause - passed, at: now)
        }
        if let file = state.task.placing, let paths = record.paths, (try? FileIdentity.of(paths.destination)) == file {
            return self.finishCommitted(record, paths, file, in: &session)
        }
        if state.isInDoubt, !record.request.isIdempotent {
            let message = "the request may have been carried out before the process ended, and it may not be sent twice"
            return EndRules.fail(record, .outcomeUnknown, FailureSentence(message), in: &session)
        }
        if let problem = JournalWriter.bodyProblem(state.task) {
            return EndRules.fail(record, problem.failure, problem.sentence, in: &session)
        }
        if let predecessor = state.task.predecessor, let other = session.tasks.record(accepted: predecessor) {
            other.journal?.dependents.append(record.number)
            session.tasks.feed(.hold(.schedule, detail: "begins after the task \(predecessor)"), to: record)
        }
        // The machine starts with one suspension.
        self.applySuspensions(from: 1, to: state.suspensions, record, in: &session)
    }

    // Handles a file that an earlier process committed without recording the end.
    private static func finishCommitted(
        _ record: TaskRecord, _ paths: DownloadPaths, _ file: FileIdentity, in session: inout SessionState
    ) {
        record.result.movedTo = paths.destination.path
        record.result.delivered = file.size
        session.tasks.publish(.moved(file: paths.destination.path), record)
        session.tasks.feed(.foundDone, to: record)
    }

    /// Handles an answer of the journal.
    static func journalAnswered(
        _ write: JournalWriter.Write, _ error: JournalError?, _ record: TaskRecord, in session: inout SessionState
    ) {
        guard let state = record.journal else { return }
        switch write {
        case .suspensions(let from, let to, let done):
            if error == nil {
                self.applySuspensions(from: from, to: to, record, in: &session)
            } else {
                state.suspensions += from - to
            }
            if let done { session.tasks.call { done(error) } }
        case .sending(let attempt): self.sendingAnswered(attempt, record, state, error, in: &session)
        // Without the entry, a crash only causes the file to be fetched again.
        case .committing: if record.machine.phase == .finishing { session.bodies.commit(record, &session.tasks) }
        case .ended: self.endAnswered(record, state, error, in: &session)
        case .writable:
            if record.machine.isOver { return EndRules.publishEnd(of: record, in: &session) }
            session.tasks.feed(.release(.disk), to: record)
        }
    }

    private static func sendingAnswered(
        _ attempt: AttemptID, _ record: TaskRecord, _ state: JournalState, _ error: JournalError?,
        in session: inout SessionState
    ) {
        state.isInDoubt = error == nil
        let waiting = record.live.flatMap { $0.isLaunched ? nil : $0.id }
        guard let awaiting = state.awaiting, awaiting.attempt == attempt, waiting == attempt else {
            // The attempt has ended. A later one may have asked in the meantime, and its answer is still to come.
            if state.awaiting == nil { session.journal.clearDoubt(record, state, &session.tasks) }
            return
        }
        state.awaiting = nil
        guard let error else { return AttemptRules.launch(record, on: awaiting.addresses, in: &session) }
        // The attempt cannot start before the journal can be written again.
        let end = AttemptRules.abort(record, .diskFull, error.description, in: &session)
        session.failures.publishFailure(record, end, .diskFull, isCharged: false, &session.tasks)
        session.tasks.feed(.hold(.disk, detail: error.description), to: record)
        session.tasks.add(.awaitJournal(task: record.number))
    }

    private static func endAnswered(
        _ record: TaskRecord, _ state: JournalState, _ error: JournalError?, in session: inout SessionState
    ) {
        guard let error, error.reason != .closed else {
            state.end = .written
            // If the result could not be persisted, the task is kept: the next process will run it again.
            if error != nil { state.isPreserved = true }
            return EndRules.publishEnd(of: record, in: &session)
        }
        // A published end must also be found after the next crash.
        state.end = .open
        session.tasks.add(.awaitJournal(task: record.number))
        session.tasks.add(.showWaiting(record.task, .waiting(.disk, detail: error.description), .disk))
    }

    // MARK: - The session

    static func reset(_ done: @escaping @Sendable () -> Void, in session: inout SessionState) {
        session.configuration.cookies?.removeAll()
        session.pool.reset()
        session.beginPool(.reset)
        guard let store = session.configuration.validators else { return session.tasks.call(done) }
        session.tasks.add(.forget(store, done))
    }

    static func begin(cancellingTasks: Bool, _ done: @escaping @Sendable () -> Void, in session: inout SessionState) {
        session.isEnding = true
        session.endCallbacks.append(done)
        guard cancellingTasks else { return }
        session.isCancelling = true
        for record in session.tasks.inOrderOfCancellation() { self.endHere(record, in: &session) }
        // A disk that does not answer is not awaited indefinitely.
        _ = session.engine.schedule(after: .seconds(5), token: SessionTimer.disk.token)
    }

    // Cancels a task; an accepted one ends in this process only, and the next process continues it.
    private static func endHere(_ record: TaskRecord, in session: inout SessionState) {
        if let state = record.journal, !record.machine.isOver {
            state.isPreserved = true
            if !record.machine.isSuspended { session.journal.noteAttempt(record, &session.tasks) }
        }
        self.cancel(record, in: &session)
    }

    /// Notifies the callers waiting for the session's end, if no task is left.
    static func finishIfEmpty(in session: inout SessionState) {
        guard session.isEnding, !session.endCallbacks.isEmpty, session.tasks.isEmpty else { return }
        for call in session.endCallbacks { session.tasks.call(call) }
        session.endCallbacks = []
    }

    /// Stops waiting for the disk.
    static func abandonDisk(in session: inout SessionState) {
        let left = session.tasks.all
        if !left.isEmpty { session.tasks.registry.noteStuckDisk() }
        for record in left { self.abandon(record, in: &session) }
    }

    static func abandonAll(in session: inout SessionState) {
        for record in session.tasks.inOrderOfCancellation() { self.endHere(record, in: &session) }
        session.carryOutSteps()
        for record in session.tasks.all { self.abandon(record, in: &session) }
        session.gates.stop()
    }

    // Stops waiting for the disk or for a handler.
    private static func abandon(_ record: TaskRecord, in session: inout SessionState) {
        record.journal?.isPreserved = true
        EndRules.handlerReturned(record, in: &session)
    }
}
