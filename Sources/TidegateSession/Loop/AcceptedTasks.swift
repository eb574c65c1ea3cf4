internal import TidegateCore
internal import TidegateTransfer

/// Tasks of the journal: how they begin, also where an earlier process left them, and what follows from its answers.
final class AcceptedTasks {
    private let driver: TaskDriver
    private let table: TaskTable
    private let commands: UserCommands
    private let runner: AttemptRunner
    private let failures: FailureReporter
    private let finisher: TaskFinisher
    private let journal: JournalWriter

    init(
        driver: TaskDriver, table: TaskTable, commands: UserCommands, runner: AttemptRunner,
        failures: FailureReporter, finisher: TaskFinisher, journal: JournalWriter
    ) {
        self.driver = driver
        self.table = table
        self.commands = commands
        self.runner = runner
        self.failures = failures
        self.finisher = finisher
        self.journal = journal
    }

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
            return self.failures.fail(record, .outcomeUnknown, message)
        }
        if let problem = JournalWriter.bodyProblem(state.task) {
            return self.failures.fail(record, problem.failure, problem.message)
        }
        if let predecessor = state.task.predecessor, let other = self.table.record(accepted: predecessor) {
            other.journal?.dependents.append(record.number)
            self.driver.feed(.hold(.schedule, detail: "begins after the task \(predecessor)"), to: record)
        }
        // The machine begins with one suspension.
        self.commands.applySuspensions(from: 1, to: state.suspensions, record)
        self.driver.settle(record)
    }

    // An earlier process had committed the file and could not say so any more.
    private func finishCommitted(_ record: TaskRecord, _ state: JournalState) {
        record.result.movedTo = record.paths?.destination
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
                self.commands.applySuspensions(from: from, to: to, record)
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
            let end = self.runner.abort(record, .diskFull, error.description)
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
