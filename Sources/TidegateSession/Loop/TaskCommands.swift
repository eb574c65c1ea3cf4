internal import TidegateCore
internal import TidegateTransfer

/// Carries out what users ask of tasks: resuming, suspending and cancelling; for tasks of the journal once that has
/// answered, also where an earlier process left them.
struct TaskCommands {
    let driver: TaskDriver
    let table: TaskTable
    let admission: AttemptAdmission
    let origins: OriginGuard
    let failures: FailureReporter
    let runner: AttemptRunner
    let reports: AttemptReports
    let finisher: TaskFinisher
    let journal: JournalWriter

    func carryOut(_ command: TaskCommand, _ record: TaskRecord) {
        switch command {
        case .resume:
            guard record.journal == nil else { return self.setSuspensions(record, { $0 - 1 }) }
            self.resume(record)
        case .suspend:
            guard record.journal == nil else { return self.setSuspensions(record, { $0 + 1 }) }
            self.suspend(record)
        case .cancel(let keepsPartial):
            if keepsPartial { record.ownDelegate.keepsPartial = true }
            self.cancel(record)
        }
    }

    /// Suspends or resumes a task, an accepted one once the journal has that.
    func setSuspensions(
        _ record: TaskRecord, _ change: @Sendable (Int) -> Int, done: (@Sendable (JournalError?) -> Void)? = nil
    ) {
        guard let state = record.journal else {
            self.applySuspensions(
                from: record.machine.suspendCount, to: change(record.machine.suspendCount), record)
            return done?(nil) ?? ()
        }
        guard !record.machine.isOver else { return done?(state.isPreserved ? .ending : nil) ?? () }
        let now = self.driver.now
        self.journal.setSuspensions(
            state, of: record.task, change, { self.journal.lifetime(of: record, at: now) }, done: done)
    }

    func applySuspensions(from: Int, to: Int, _ record: TaskRecord) {
        for _ in from..<max(from, to) { self.suspend(record) }
        for _ in to..<max(from, to) { self.resume(record) }
    }

    /// Holds the tasks without an attempt, and any other one before its next attempt.
    func holdForShutdown(_ records: [TaskRecord]) {
        self.admission.isDraining = true
        for record in records where !record.machine.isSuspended {
            switch record.machine.phase {
            case .idle, .seeking:
                self.driver.feed(.hold(.drain, detail: nil), to: record)
                self.driver.touch(record)
            case .running, .paused, .deciding, .finishing, .parked, .ended: break
            }
        }
    }

    private func resume(_ record: TaskRecord) {
        if record.result.firstResumed == nil { record.result.firstResumed = self.driver.now }
        self.driver.feed(.resume, to: record)
    }

    private func suspend(_ record: TaskRecord) {
        self.driver.feed(.suspend(.user), to: record)
        // What a suspended task would find out may be long in coming: another one tests the origin.
        if record.live == nil { self.origins.leaveProbe(record) }
        if record.machine.isHeld(for: .concurrency) {
            self.admission.stopWaitingForConnection(record)
            self.driver.feed(.release(.concurrency), to: record)
        }
    }

    func cancel(_ record: TaskRecord) {
        guard !record.machine.isOver else { return }
        self.failures.leaveGate(record, .cancelled)
        self.driver.feed(.cancel, to: record)
    }

    /// Ends an accepted task in this process only: the next one goes on with it.
    func preserve(_ record: TaskRecord) {
        guard let state = record.journal, !record.machine.isOver else { return }
        state.isPreserved = true
        if !record.machine.isSuspended { self.journal.noteAttempt(record, at: self.driver.now) }
    }

    // MARK: - Tasks of the journal

    /// Begins an accepted task, or goes on where an earlier process left it.
    func begin(_ record: TaskRecord) {
        guard let state = record.journal else { return }
        let progress = state.task.life.effort
        record.clocks.restore(
            lived: self.journal.livedSoFar(state.task), active: progress?.active ?? .zero,
            waited: progress?.waited ?? .zero)
        record.retry.counter.restore(charged: progress?.charged ?? 0, inARow: progress?.inARow ?? 0)
        if JournalWriter.isCommitted(state.task, at: record.paths) { return self.finishCommitted(record, state) }
        if state.isInDoubt, !record.request.isIdempotent {
            let message = "the request may have been carried out before the process ended, and it may not be sent twice"
            return self.failures.fail(record, .outcomeUnknown, FailureSentence(message))
        }
        if let problem = JournalWriter.bodyProblem(state.task) {
            return self.failures.fail(record, problem.failure, FailureSentence(problem.message))
        }
        if let predecessor = state.task.predecessor, let other = self.table.record(accepted: predecessor) {
            other.journal?.dependents.append(record.number)
            self.driver.feed(.hold(.schedule, detail: "begins after the task \(predecessor)"), to: record)
        }
        // The machine begins with one suspension.
        self.applySuspensions(from: 1, to: state.suspensions, record)
        self.driver.touch(record)
    }

    // An earlier process had committed the file and could not say so any more.
    private func finishCommitted(_ record: TaskRecord, _ state: JournalState) {
        record.result.movedTo = record.paths?.destination.path
        record.result.delivered = state.task.placing?.size ?? 0
        if let file = record.result.movedTo { self.driver.publish(.moved(file: file), record) }
        self.driver.feed(.foundDone, to: record)
    }

    /// What follows from an answer of the journal's.
    func journalAnswered(_ event: JournalWriter.Event, _ record: TaskRecord) {
        guard let state = record.journal else { return }
        switch event.write {
        case .suspensions(let from, let to, let done):
            if event.error == nil {
                self.applySuspensions(from: from, to: to, record)
            } else {
                state.suspensions += from - to
            }
            done?(event.error)
        case .sending(let attempt): self.sendingAnswered(attempt, record, state, event.error)
        case .committing: self.finisher.commitRecorded(record)
        case .ended: self.endAnswered(record, state, event.error)
        case .writable:
            if record.machine.isOver { return self.finisher.publishEnd(of: record) }
            self.driver.feed(.release(.disk), to: record)
        }
    }

    private func sendingAnswered(
        _ attempt: AttemptID, _ record: TaskRecord, _ state: JournalState, _ error: JournalError?
    ) {
        let waiting = record.live.flatMap { $0.isLaunched ? nil : $0.id }
        let decision = self.journal.sendingAnswered(
            (attempt, error), state, of: record.task, waiting: waiting, isOver: record.machine.isOver)
        switch decision {
        case .nothing: break
        case .launch(let addresses): self.runner.launch(record, on: addresses)
        case .waitForDisk(let error):
            let end = self.reports.abort(record, .diskFull, error.description)
            self.failures.publishFailure(record, end, .diskFull, isCharged: false)
            self.driver.feed(.hold(.disk, detail: error.description), to: record)
            self.journal.awaitDisk(record.number)
        }
    }

    private func endAnswered(_ record: TaskRecord, _ state: JournalState, _ error: JournalError?) {
        guard let error = self.journal.endAnswered(state, record.number, error) else {
            return self.finisher.publishEnd(of: record)
        }
        record.task.shared.update { shared in
            shared.snapshot.state = .waiting(.disk, detail: error.description)
            shared.held = [.disk]
        }
    }
}
