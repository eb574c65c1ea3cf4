internal import TidegateCore
internal import TidegateTransfer

/// Accepted tasks: nothing that must not be forgotten happens before the journal has it.
extension SessionLoop {
    /// A task of the journal's begins, or goes on where an earlier process left it.
    func takeOver(_ record: TaskRecord) {
        guard let mark = record.journal else { return }
        self.journaled[record.task.id] = record.number
        let effort = mark.task.life.effort
        record.clocks.goOn(
            after: self.livedSoFar(mark.task), active: effort?.active ?? .zero, waited: effort?.waited ?? .zero)
        record.counter.goOn(after: effort?.charged ?? 0, inARow: effort?.inARow ?? 0)
        if self.isPlaced(record, mark) { return self.finishPlaced(record) }
        if mark.isInDoubt, !record.request.isIdempotent {
            let words = "the request may have been carried out before the process ended, and it may not be sent twice"
            return self.fail(record, .outcomeUnknown, words)
        }
        if let problem = self.bodyProblem(mark.task) { return self.fail(record, problem.failure, problem.words) }
        if let predecessor = mark.task.predecessor, let number = self.journaled[predecessor] {
            self.records[number]?.journal?.followers.append(record.number)
            self.feed(.hold(.schedule, detail: "begins after the task \(predecessor)"), to: record)
        }
        for _ in 1..<max(1, mark.suspensions) { self.feed(.suspend(.user), to: record) }
        if mark.suspensions == 0 {
            if record.tally.firstResumed == nil { record.tally.firstResumed = self.now }
            self.feed(.resume, to: record)
        } else {
            self.settle(record)
        }
    }

    private func livedSoFar(_ task: JournaledTask) -> Duration {
        task.suspensions > 0 ? task.life.lived : task.life.lived(at: self.life(.zero))
    }

    private func life(_ lived: Duration) -> TaskLifetime {
        TaskLifetime(
            lived: lived, wall: self.surroundings.time.wall(), monotonic: self.surroundings.time.monotonic(),
            boot: self.surroundings.journal?.boot ?? "")
    }

    /// How far a task has come in its life, and what it has used up.
    func life(of record: TaskRecord) -> TaskLifetime {
        var life = self.life(record.clocks.lifetime(at: self.now))
        life.effort = RetryProgress(
            active: record.clocks.activeTime(at: self.now), waited: record.clocks.waitedTime(at: self.now),
            charged: record.counter.charged, inARow: record.counter.inARow)
        return life
    }

    /// Another process that goes on with the task shall not give it everything again.
    func noteTry(_ record: TaskRecord) {
        guard record.journal != nil else { return }
        self.surroundings.journal?.record(.tried(record.task.id, self.life(of: record))) { _ in }
    }

    /// What keeps a file from being sent as the one that was accepted; nil where nothing does.
    func bodyProblem(_ task: JournaledTask) -> (failure: TaskFailure, words: String)? {
        guard case .file(let path, let accepted) = task.description.body else { return nil }
        do {
            guard try FileIdentity.of(path).hasContents(of: accepted) else {
                return (.bodyChanged, "\(path) is not the file any more that it was when the task was accepted")
            }
            return nil
        } catch {
            return (error.failure, error.description)
        }
    }

    // MARK: - Sending what may not be sent twice

    /// True where an attempt may reach the wire now; false where the journal is asked first.
    func mayReachWire(_ record: TaskRecord, on addresses: [IPAddress]) -> Bool {
        guard let mark = record.journal, !record.request.isIdempotent, !mark.isInDoubt, let live = record.attempt
        else { return true }
        mark.addresses = addresses
        mark.awaited = live.id
        self.write(.sending(record.task.id), of: record, as: .sending(live.id))
        return false
    }

    private func maySend(_ attempt: AttemptID, _ record: TaskRecord, _ mark: JournalState, _ error: JournalError?) {
        mark.isInDoubt = error == nil
        guard mark.awaited == attempt, let live = record.attempt, live.id == attempt, !live.isLaunched else {
            // Nobody sends it any more; a later attempt may have asked meanwhile, and its answer is still to come.
            return mark.awaited == nil ? self.takeDoubtBack(record, mark) : ()
        }
        mark.awaited = nil
        guard let error else { return self.launch(record, on: mark.addresses) }
        let end = self.takeOff(record, .diskFull, error.description)
        self.publishFailure(record, end, .diskFull, isCharged: false)
        self.holdForDisk(record, error)
    }

    /// An attempt is over: where nothing has reached the wire yet, another process may try again.
    func noteReach(_ record: TaskRecord, reachedWire: Bool) {
        guard let mark = record.journal else { return }
        if reachedWire { mark.hasReachedWire = true }
        mark.awaited = nil
        self.takeDoubtBack(record, mark)
    }

    private func takeDoubtBack(_ record: TaskRecord, _ mark: JournalState) {
        guard mark.isInDoubt, !mark.hasReachedWire, !record.request.isIdempotent, !record.machine.isOver else { return }
        mark.isInDoubt = false
        self.surroundings.journal?.record(.notSent(record.task.id)) { _ in }
    }

    private func holdForDisk(_ record: TaskRecord, _ error: JournalError) {
        self.feed(.hold(.disk, detail: error.description), to: record)
        self.awaitDisk(record)
    }

    private func awaitDisk(_ record: TaskRecord) {
        let (line, number) = (self.surroundings.line, record.number)
        self.surroundings.journal?.whenWritable { line.send(.journaled(number, .writable, nil)) }
    }

    // MARK: - What the journal answers

    private func write(_ entry: JournalEntry, of record: TaskRecord, as step: JournalWrite) {
        let (line, number) = (self.surroundings.line, record.number)
        self.surroundings.journal?.record(entry) { result in
            var trouble: JournalError?
            if case .failure(let error) = result { trouble = error }
            line.send(.journaled(number, step, trouble))
        }
    }

    func journaled(_ step: JournalWrite, _ record: TaskRecord, _ error: JournalError?) {
        guard let mark = record.journal else { return }
        switch step {
        case .suspensions(let from, let to, let done): self.applySuspensions(from, to, record, error, done)
        case .sending(let attempt): self.maySend(attempt, record, mark, error)
        case .placing: self.place(record, error)
        case .ended: self.endWritten(record, mark, error)
        case .writable: self.diskIsBack(record, mark)
        }
    }

    private func diskIsBack(_ record: TaskRecord, _ mark: JournalState) {
        if record.machine.isOver { return self.publishEnd(of: record) }
        self.feed(.release(.disk), to: record)
    }

    // MARK: - Users

    /// Suspends or resumes an accepted task once the journal knows.
    func order(
        _ record: TaskRecord, suspensions change: (Int) -> Int, done: (@Sendable (JournalError?) -> Void)? = nil
    ) {
        guard let mark = record.journal else { return done?(nil) ?? () }
        guard !record.machine.isOver else { return done?(mark.isLeft ? .ending : nil) ?? () }
        let (from, to) = (mark.suspensions, max(0, change(mark.suspensions)))
        guard from != to else { return done?(nil) ?? () }
        mark.suspensions = to
        let life = self.life(of: record)
        self.write(
            .suspensions(record.task.id, to, life), of: record,
            as: .suspensions(from: from, to: to, done: done))
    }

    private func applySuspensions(
        _ from: Int, _ to: Int, _ record: TaskRecord, _ error: JournalError?,
        _ done: (@Sendable (JournalError?) -> Void)?
    ) {
        if error != nil {
            record.journal?.suspensions += from - to
        } else if to > from {
            for _ in from..<to { self.suspendNow(record) }
        } else {
            for _ in to..<from { self.resumeNow(record) }
        }
        done?(error)
    }
}
