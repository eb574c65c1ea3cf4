internal import TidegateCore
internal import TidegateTransfer

/// What the users of tasks ask for: resuming, suspending and cancelling.
final class UserCommands {
    private let driver: TaskDriver
    private let admission: AttemptAdmission
    private let origins: OriginGuard
    private let failures: FailureReporter
    private let journal: JournalWriter

    init(
        driver: TaskDriver, admission: AttemptAdmission, origins: OriginGuard, failures: FailureReporter,
        journal: JournalWriter
    ) {
        self.driver = driver
        self.admission = admission
        self.origins = origins
        self.failures = failures
        self.journal = journal
    }

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
                self.driver.settle(record)
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
}
