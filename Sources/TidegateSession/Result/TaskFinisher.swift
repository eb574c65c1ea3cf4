internal import TidegateCore
internal import TidegateTransfer

/// Brings tasks to their ends: commits files, cleans up what is left, and publishes each end once.
struct TaskFinisher {
    let driver: TaskDriver
    let table: TaskTable
    let gate: PathGate
    let admission: AttemptAdmission
    let origins: OriginGuard
    let failures: FailureReporter
    let bodies: TaskBodies
    let delegate: DelegateDispatcher
    let journal: JournalWriter
    let revalidator: ResponseRevalidator

    // MARK: - Commits

    /// Every byte is here: commits the file or sums the body up, if either is needed, and stores the response.
    func commit(_ record: TaskRecord) {
        if self.revalidator.restore(record) { return }
        if record.download.file == nil, !record.needsDigestOfMemory { return self.finish(record) }
        if record.download.file != nil, record.journal != nil, let paths = record.paths,
            self.journal.recordCommit(of: record.task, paths)
        {
            return
        }
        self.bodies.commit(record)
    }

    /// The journal knows that the file is about to be committed.
    func commitRecorded(_ record: TaskRecord) {
        if record.machine.phase == .finishing { self.bodies.commit(record) }
    }

    /// What the disk's thread reports.
    func disk(_ event: DownloadWriter.Event, _ record: TaskRecord) {
        switch event {
        case .committed(let result): self.committed(record, result)
        case .cleaned: self.publishEnd(of: record)
        case .restored(let body): self.revalidator.restored(body, record)
        case .stored: self.revalidator.stored(record)
        }
    }

    // Everything is where it belongs.
    private func finish(_ record: TaskRecord) {
        if !self.revalidator.store(record) { self.driver.feed(.committed(isGood: true), to: record) }
    }

    private func committed(_ record: TaskRecord, _ result: Result<Bool, FileError>) {
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
            self.driver.publish(.moved(file: path), record)
            self.finish(record)
        case .failure(let error) where error.failure == .diskFull && record.waitsForResources:
            self.bodies.waitForRoom(record, error)
        case .failure(let error) where error.isDescriptorShortage && record.waitsForResources:
            self.bodies.waitToCommit(record)
        case .failure(let error):
            self.driver.publish(.moveFailed(file: path, errorNumber: error.code), record)
            record.result.failure = error.failure
            record.result.sentence = FailureSentence(error.description)
            self.failures.attribute(error.failure, record)
            self.driver.feed(.committed(isGood: false), to: record)
        }
    }

    // A body was summed up before it is the task's.
    private func summedUp(_ record: TaskRecord, isGood: Bool) {
        guard !isGood, let wanted = record.request.sha256, let found = record.download.commit?.digest else {
            return isGood ? self.finish(record) : self.driver.feed(.committed(isGood: false), to: record)
        }
        if self.bodies.mayFetchAgain(record) {
            self.driver.publish(.restarted(discarded: record.download.partial.restart()), record)
            self.bodies.forgetBody(record)
            return self.driver.feed(.commitLeads, to: record)
        }
        // Nothing of it can be continued.
        _ = record.download.partial.restart()
        record.download.body = []
        record.result.failure = .digestMismatch
        let message = wanted.mismatch(found)
        record.result.sentence = FailureSentence(message, of: record.request.address.textWithoutQuery)
        self.failures.attribute(.digestMismatch, record)
        self.driver.feed(.committed(isGood: false), to: record)
    }

    // MARK: - Ends

    /// The machine is done: takes the task out of everything, sees to what is left on the disk, and then publishes.
    func end(_ record: TaskRecord) {
        record.clocks.follow(record.clockInputs, at: self.driver.now)
        record.clocks.stop()
        self.driver.timers.cancel(record)
        self.admission.releaseConnection(record)
        self.admission.stopWaitingForConnection(record)
        self.gate.detach(record.number, &record.gate)
        self.origins.leaveCircuit(record)
        self.origins.leaveProbe(record)
        if let state = record.delegate { self.delegate.stopAsking(state, of: record.task.id) }
        record.download.commit?.abandon()
        if !self.bodies.clean(record) { self.publishEnd(of: record) }
    }

    /// Publishes the task's end, once the journal has it and its handler has returned; nothing follows.
    func publishEnd(of record: TaskRecord) {
        guard !record.result.isPublished, case .ended(let outcome) = record.machine.phase else { return }
        if let state = record.journal,
            !self.journal.isEndWritten(state, of: record.task, { self.result(of: record, outcome) })
        {
            return
        }
        let result = self.result(of: record, outcome)
        self.showEnd(of: record)
        self.driver.publisher.flush()
        if self.delegate.waitsForHandler(record.task, record.delegate, result) { return }
        record.result.isPublished = true
        record.download.file = nil
        self.table.remove(record)
        defer { self.releaseDependents(record) }
        // The session's end did not wait for this thread and has published it already.
        guard let entry = self.table.registry.end(record.task, holding: record.download.body.count) else { return }
        self.delegate.didComplete(record.task, result)
        entry.onCompletion?(record.task, result)
        // One that the next process goes on with is not over.
        if record.isPreserved {
            self.driver.publish(.suspended(.shutdown), record)
        } else {
            self.driver.publish(.completed(result.redacted(for: record.task)), record)
            if entry.isRestored, let count = self.table.registry.restoredTaskEnded() {
                self.driver.publisher.publish(.restoredTasksEnded(count: count))
            }
        }
        self.driver.publisher.finish(record.task, result, resumeData: self.bodies.resumeData(of: record))
    }

    /// The disk or a handler is not waited for any more.
    func abandon(_ record: TaskRecord) {
        record.journal?.isPreserved = true
        self.handlerReturned(record)
    }

    /// A completion handler on another executor has returned, or is not waited for any more.
    func handlerReturned(_ record: TaskRecord) {
        if record.task.handlers?.completion != nil { record.ownDelegate.didFinishHandler = true }
        self.publishEnd(of: record)
    }

    // Tasks that waited for this one begin, unless it goes on in the next process.
    private func releaseDependents(_ record: TaskRecord) {
        guard let state = record.journal, !state.isPreserved else { return }
        for number in state.dependents {
            if let dependent = self.table[number] { self.driver.feed(.release(.schedule), to: dependent) }
        }
    }

    private func showEnd(of record: TaskRecord) {
        let (progress, started, body) = (record.progress, record.result.started, record.download.body)
        let (head, url, isRevalidated) = (record.result.head, record.finalURL, record.result.isRevalidated)
        record.task.shared.update { shared in
            if let head = head ?? shared.response?.head { shared.response = (head, url, isRevalidated) }
            shared.snapshot.progress = progress
            shared.snapshot.started = started
            shared.body = body
        }
    }

    private func result(of record: TaskRecord, _ outcome: TaskOutcome) -> TaskResult {
        let (state, partial) = (record.result, record.download.partial)
        let failure: TaskFailure? =
            switch outcome {
            case .success: nil
            case .failure: state.failure ?? .internal
            case .cancelled: .cancelled
            }
        let isGood = outcome == .success
        let held = record.keepsBytes || record.isStream ? max(0, partial.offset - partial.start) : 0
        return TaskResult(
            id: record.task.id, name: record.request.name, key: record.task.journaled?.task.description.key,
            kind: record.kind, method: record.request.method, url: record.request.url, outcome: outcome,
            status: state.status, file: isGood ? state.movedTo : nil,
            bytes: isGood ? state.delivered : held, wireBytes: state.wireBytes, sentBytes: state.sentBytes,
            refetchedBytes: state.refetched,
            attempts: record.retry.counter.charged, held: record.machine.heldTotals,
            duration: state.firstResumed.map { self.driver.now - $0 } ?? .zero, phases: state.phases,
            failure: failure, attribution: outcome == .failure ? state.attribution : nil,
            explanation: isGood ? nil : outcome == .cancelled ? "the task was cancelled" : state.sentence?.text,
            requireUnmet: outcome == .failure ? state.requireUnmet : nil, sha256: state.sha256,
            clause: outcome == .failure ? state.sentence?.clause : nil,
            activeTime: record.clocks.activeTime(at: self.driver.now), isRevalidated: isGood && state.isRevalidated)
    }
}
