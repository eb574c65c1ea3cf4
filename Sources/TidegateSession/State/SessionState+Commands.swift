internal import TidegateCore
internal import TidegateTransfer

// What users ask of tasks, for tasks of the journal once that has answered; and the session's own reset and end.
extension SessionState {
    // The session's end and a new task may pass each other on the way here.
    mutating func record(of task: TransferTask) -> TaskRecord? {
        guard let record = self.tasks.table.record(of: task) else { return nil }
        guard self.end.isCancelling, !record.machine.isOver else { return record }
        self.endHere(record)
        return nil
    }

    mutating func obey(_ command: TaskCommand, _ record: TaskRecord) {
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
    mutating func setSuspensions(
        _ record: TaskRecord, _ change: @Sendable (Int) -> Int, done: (@Sendable (JournalError?) -> Void)? = nil
    ) {
        if let state = record.journal, !record.machine.isOver {
            return self.journal.setSuspensions(
                record, state, to: change(state.suspensions), done: done, &self.tasks)
        }
        let isPreserved = record.isPreserved
        if record.journal == nil {
            let suspensions = record.machine.suspendCount
            self.applySuspensions(from: suspensions, to: change(suspensions), record)
        }
        if let done { self.tasks.add(.call { done(isPreserved ? .ending : nil) }) }
    }

    private mutating func applySuspensions(from: Int, to: Int, _ record: TaskRecord) {
        for _ in from..<max(from, to) { self.suspend(record) }
        for _ in to..<max(from, to) { self.resume(record) }
    }

    private mutating func resume(_ record: TaskRecord) {
        if record.result.firstResumed == nil { record.result.firstResumed = self.tasks.now }
        self.tasks.feed(.resume, to: record)
    }

    private mutating func suspend(_ record: TaskRecord) {
        self.tasks.feed(.suspend(.user), to: record)
        // What a suspended task would find out may be long in coming: another one tests the origin.
        if record.live == nil { self.origins.leaveProbe(record, &self.tasks) }
        if record.machine.isHeld(for: .concurrency) {
            self.admission.withdraw(record)
            self.tasks.feed(.release(.concurrency), to: record)
        }
    }

    mutating func cancel(_ record: TaskRecord) {
        guard !record.machine.isOver else { return }
        self.leaveGate(record, .cancelled)
        self.tasks.feed(.cancel, to: record)
    }

    /// Holds the tasks without an attempt, and any other one before its next attempt.
    mutating func holdForShutdown() {
        self.admission.isDraining = true
        for record in self.tasks.table.all where !record.machine.isSuspended {
            switch record.machine.phase {
            case .idle, .seeking: self.tasks.feed(.hold(.drain, detail: nil), to: record)
            case .running, .paused, .deciding, .finishing, .parked, .ended: break
            }
        }
    }

    // MARK: - Tasks of the journal

    /// Begins a task that has to be watched before it is resumed; an accepted one goes on where an earlier process left
    /// it.
    mutating func adopt(_ record: TaskRecord) {
        if record.request.expires != nil { self.scheduleExpiry(record) }
        self.tasks.touch(record)
        guard let state = record.journal else { return }
        let progress = state.task.life.effort
        record.clocks.restore(
            lived: self.journal.livedSoFar(state.task), active: progress?.active ?? .zero,
            waited: progress?.waited ?? .zero)
        record.retry.counter.restore(charged: progress?.charged ?? 0, inARow: progress?.inARow ?? 0)
        if JournalWriter.isCommitted(state.task, at: record.paths) { return self.finishCommitted(record, state) }
        if state.isInDoubt, !record.request.isIdempotent {
            let message = "the request may have been carried out before the process ended, and it may not be sent twice"
            return self.fail(record, .outcomeUnknown, FailureSentence(message))
        }
        if let problem = JournalWriter.bodyProblem(state.task) {
            return self.fail(record, problem.failure, problem.sentence)
        }
        if let predecessor = state.task.predecessor,
            let other = self.tasks.table.record(accepted: predecessor)
        {
            other.journal?.dependents.append(record.number)
            self.tasks.feed(.hold(.schedule, detail: "begins after the task \(predecessor)"), to: record)
        }
        // The machine begins with one suspension.
        self.applySuspensions(from: 1, to: state.suspensions, record)
    }

    // An earlier process had committed the file and could not say so any more.
    private mutating func finishCommitted(_ record: TaskRecord, _ state: JournalState) {
        record.result.movedTo = record.paths?.destination.path
        record.result.delivered = state.task.placing?.size ?? 0
        if let file = record.result.movedTo { self.tasks.publish(.moved(file: file), record) }
        self.tasks.feed(.foundDone, to: record)
    }

    /// What follows from an answer of the journal's.
    mutating func journalAnswered(_ event: JournalWriter.Event, _ record: TaskRecord) {
        guard let state = record.journal else { return }
        switch event.write {
        case .suspensions(let from, let to, let done):
            if event.error == nil {
                self.applySuspensions(from: from, to: to, record)
            } else {
                state.suspensions += from - to
            }
            if let done { self.tasks.add(.call { done(event.error) }) }
        case .sending(let attempt): self.sendingAnswered(attempt, record, state, event.error)
        // Without the entry the file is only fetched again after a crash.
        case .committing: if record.machine.phase == .finishing { self.bodies.commit(record, &self.tasks) }
        case .ended: self.endAnswered(record, state, event.error)
        case .writable:
            if record.machine.isOver { return self.publishEnd(of: record) }
            self.tasks.feed(.release(.disk), to: record)
        }
    }

    private mutating func sendingAnswered(
        _ attempt: AttemptID, _ record: TaskRecord, _ state: JournalState, _ error: JournalError?
    ) {
        switch self.journal.sendingAnswered(attempt, error, record, state, &self.tasks) {
        case .nothing: break
        case .launch(let addresses): self.launch(record, on: addresses)
        case .waitForDisk(let error):
            let end = self.abort(record, .diskFull, error.description)
            self.failures.publishFailure(record, end, .diskFull, isCharged: false, &self.tasks)
            self.tasks.feed(.hold(.disk, detail: error.description), to: record)
            self.tasks.add(.awaitJournal(task: record.number))
        }
    }

    private mutating func endAnswered(_ record: TaskRecord, _ state: JournalState, _ error: JournalError?) {
        guard let error = self.journal.endAnswered(record, state, error, &self.tasks) else {
            return self.publishEnd(of: record)
        }
        var view = record.finalView
        view.state = .waiting(.disk, detail: error.description)
        view.held = [.disk]
        self.tasks.add(.show(record.task, view))
    }

    // MARK: - The session

    mutating func reset(_ done: @escaping @Sendable () -> Void) {
        self.configuration.cookies?.removeAll()
        self.pool.reset()
        self.beginPool(.reset)
        guard let store = self.configuration.validators else { return self.tasks.add(.call(done)) }
        self.tasks.add(.forget(store, done))
    }

    mutating func begin(cancellingTasks: Bool, _ done: @escaping @Sendable () -> Void) {
        self.end.isUnderWay = true
        self.end.done.append(done)
        guard cancellingTasks else { return }
        self.end.isCancelling = true
        for record in self.tasks.table.inOrderOfCancellation() { self.endHere(record) }
        // A disk that does not answer is not waited for without end.
        _ = self.engine.schedule(after: SessionEnd.diskPatience, token: SessionTimer.disk.token)
    }

    // Cancels a task; an accepted one ends in this process only, and the next one goes on with it.
    private mutating func endHere(_ record: TaskRecord) {
        if let state = record.journal, !record.machine.isOver {
            state.isPreserved = true
            if !record.machine.isSuspended { self.journal.noteAttempt(record, &self.tasks) }
        }
        self.cancel(record)
    }

    /// Calls who waits for the session's end, if no task is left.
    mutating func finishIfEmpty() {
        guard self.end.isUnderWay, !self.end.done.isEmpty, self.tasks.table.isEmpty else { return }
        for call in self.end.done { self.tasks.add(.call(call)) }
        self.end.done = []
    }

    /// The disk has had its time.
    mutating func abandonDisk() {
        if !self.tasks.table.hasNoRecords { self.tasks.table.registry.noteStuckDisk() }
        for record in self.tasks.table.all { self.abandon(record) }
    }

    mutating func abandonAll() {
        for record in self.tasks.table.inOrderOfCancellation() { self.endHere(record) }
        self.carryOutSteps()
        for record in self.tasks.table.all { self.abandon(record) }
        self.gates.stop()
    }

    // The disk or a handler is not waited for any more.
    private mutating func abandon(_ record: TaskRecord) {
        record.journal?.isPreserved = true
        self.handlerReturned(record)
    }
}

/// How far a session's end has come: tasks are let finish or are cancelled.
struct SessionEnd {
    /// How long the disk may take to finish when the tasks are cancelled.
    static let diskPatience = Duration.seconds(5)

    var isUnderWay = false
    /// True if tasks are cancelled, including those that are still on their way to the thread.
    var isCancelling = false
    /// Called once no task is left.
    var done: [@Sendable () -> Void] = []
}
