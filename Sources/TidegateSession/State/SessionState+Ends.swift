internal import TidegateCore
internal import TidegateTransfer

// Commits of files, and the ends of tasks: cleaned up after, and published once.
extension SessionState {
    // MARK: - Commits

    /// Every byte is here: commits the file or sums the body up, if either is needed, and stores the response.
    mutating func commit(_ record: TaskRecord) {
        if self.revalidator.restore(record, &self.tasks) { return }
        if record.download.file == nil, !record.needsDigestOfMemory { return self.finish(record) }
        if record.download.file != nil, self.journal.recordCommit(record, &self.tasks) { return }
        self.bodies.commit(record, &self.tasks)
    }

    /// What the disk's thread reports.
    mutating func diskReported(_ event: DiskEvent, _ record: TaskRecord) {
        switch event {
        case .committed(let result): self.committed(record, result)
        case .cleaned: self.publishEnd(of: record)
        case .restored(let body):
            self.revalidator.reportProblems(&self.tasks)
            self.revalidator.restored(body, record, &self.tasks)
        // Neither a response that was stored nor one that could not be is the task's fault.
        case .stored:
            self.revalidator.reportProblems(&self.tasks)
            self.tasks.feed(.committed(isGood: true), to: record)
        case .refused: self.tasks.feed(.committed(isGood: false), to: record)
        }
    }

    // Everything is where it belongs.
    private mutating func finish(_ record: TaskRecord) {
        if !self.revalidator.store(record, &self.tasks) { self.tasks.feed(.committed(isGood: true), to: record) }
    }

    private mutating func committed(_ record: TaskRecord, _ result: Result<Bool, FileError>) {
        guard !record.machine.isOver else { return }
        record.result.sha256 = record.download.commit?.digest?.description
        guard let path = record.destination.path else {
            return self.summedUp(record, isGood: (try? result.get()) == true)
        }
        switch result {
        case .success(false): self.summedUp(record, isGood: false)
        case .success(true):
            record.download.hasTemporary = false
            record.result.movedTo = path
            self.tasks.publish(.moved(file: path), record)
            self.finish(record)
        case .failure(let error) where error.failure == .diskFull && record.waitsForResources:
            self.bodies.waitForRoom(record, error, &self.tasks)
        case .failure(let error) where error.isDescriptorShortage && record.waitsForResources:
            self.bodies.waitToCommit(record, &self.tasks)
        case .failure(let error):
            self.tasks.publish(.moveFailed(file: path, errorNumber: error.code), record)
            record.result.failure = error.failure
            record.result.sentence = FailureSentence(error.description)
            self.failures.attribute(error.failure, record)
            self.tasks.feed(.committed(isGood: false), to: record)
        }
    }

    // A body was summed up before it is the task's.
    private mutating func summedUp(_ record: TaskRecord, isGood: Bool) {
        guard !isGood, let wanted = record.request.sha256, let found = record.download.commit?.digest else {
            return isGood ? self.finish(record) : self.tasks.feed(.committed(isGood: false), to: record)
        }
        if self.bodies.mayFetchAgain(record) {
            self.tasks.publish(.restarted(discarded: record.download.partial.restart()), record)
            self.bodies.forgetBody(record)
            return self.tasks.feed(.commitLeads, to: record)
        }
        // Nothing of it can be continued.
        _ = record.download.partial.restart()
        record.download.body = []
        record.result.failure = .digestMismatch
        let message = wanted.mismatch(found)
        record.result.sentence = FailureSentence(message, of: record.request.address.textWithoutQuery)
        self.failures.attribute(.digestMismatch, record)
        self.tasks.feed(.committed(isGood: false), to: record)
    }

    // MARK: - Ends

    /// The machine is done: takes the task out of everything, sees to what is left on the disk, and then publishes.
    mutating func end(_ record: TaskRecord) {
        record.clocks.follow(record.clockInputs, at: self.tasks.now)
        record.clocks.stop()
        self.tasks.cancelTimer(record)
        self.admission.releaseConnection(record, &self.tasks)
        self.admission.withdraw(record)
        self.gates.detach(record.number, &record.gate)
        self.origins.leaveCircuit(record, &self.tasks)
        self.origins.leaveProbe(record, &self.tasks)
        self.delegate.stopAsking(record, &self.tasks)
        record.download.commit?.abandon()
        if !self.bodies.clean(record, &self.tasks) { self.publishEnd(of: record) }
    }

    /// Publishes the task's end, once the journal has it and its handler has returned; nothing follows.
    mutating func publishEnd(of record: TaskRecord) {
        guard !record.result.isPublished, case .ended(let outcome) = record.machine.phase else { return }
        let now = self.tasks.now
        guard self.journal.isEndWritten(record, { record.result(outcome, at: now) }, &self.tasks) else { return }
        let result = record.result(outcome, at: now)
        self.tasks.add(.show(record.task, record.finalView))
        if record.task.handlers?.completion != nil {
            let isAwaited = record.delegate?.didFinishHandler != true
            self.tasks.add(.runHandler(record.task, result, isAwaited: isAwaited))
            if isAwaited { return }
        }
        record.result.isPublished = true
        self.tasks.add(
            .end(
                record.task, result,
                EndOfTask(
                    resumeData: self.bodies.resumeData(of: record), isPreserved: record.isPreserved,
                    bodyBytes: record.download.body.count)))
        record.download.file = nil
        self.tasks.table.remove(record)
        self.releaseDependents(record)
    }

    /// A completion handler on another executor has returned, or is not waited for any more.
    mutating func handlerReturned(_ record: TaskRecord) {
        if record.task.handlers?.completion != nil { record.ownDelegate.didFinishHandler = true }
        self.publishEnd(of: record)
    }

    // Tasks that waited for this one begin, unless it goes on in the next process.
    private mutating func releaseDependents(_ record: TaskRecord) {
        guard let state = record.journal, !state.isPreserved else { return }
        for number in state.dependents {
            if let dependent = self.tasks[number] { self.tasks.feed(.release(.schedule), to: dependent) }
        }
    }
}

extension TaskRecord {
    fileprivate func result(_ outcome: TaskOutcome, at now: MonotonicTime) -> TaskResult {
        let (state, partial) = (self.result, self.download.partial)
        let failure: TaskFailure? =
            switch outcome {
            case .success: nil
            case .failure: state.failure ?? .internal
            case .cancelled: .cancelled
            }
        let isGood = outcome == .success
        let held = self.keepsBytes || self.isStream ? max(0, partial.offset - partial.start) : 0
        return TaskResult(
            id: self.task.id, name: self.request.name, key: self.task.journaled?.task.description.key,
            kind: self.kind, method: self.request.method, url: self.request.url, outcome: outcome,
            status: state.status, file: isGood ? state.movedTo : nil,
            bytes: isGood ? state.delivered : held, wireBytes: state.wireBytes, sentBytes: state.sentBytes,
            refetchedBytes: state.refetched,
            attempts: self.retry.counter.charged, held: self.machine.heldTotals,
            duration: state.firstResumed.map { now - $0 } ?? .zero, phases: state.phases,
            failure: failure, attribution: outcome == .failure ? state.attribution : nil,
            explanation: isGood ? nil : outcome == .cancelled ? "the task was cancelled" : state.sentence?.text,
            requireUnmet: outcome == .failure ? state.requireUnmet : nil, sha256: state.sha256,
            clause: outcome == .failure ? state.sentence?.clause : nil,
            activeTime: self.clocks.activeTime(at: now), isRevalidated: isGood && state.isRevalidated)
    }
}
