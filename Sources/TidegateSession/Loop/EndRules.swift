internal import TidegateCore
internal import TidegateTransfer

/// Commits files, and ends tasks: cleans up and publishes each end once.
enum EndRules {
    // MARK: - Failures

    /// Fails a task for a reason outside attempts.
    static func fail(
        _ record: TaskRecord, _ failure: TaskFailure, _ sentence: FailureSentence, in session: inout SessionState
    ) {
        guard !record.machine.isOver, record.machine.phase != .finishing else { return }
        if failure != .gateTimeout { session.leaveGate(record, .cancelled) }
        if record.result.attribution == nil { session.failures.attribute(failure, record) }
        self.close(record, failure, sentence, in: &session)
    }

    // Ends a task whose last attempt has been published.
    static func close(
        _ record: TaskRecord, _ failure: TaskFailure, _ sentence: FailureSentence, in session: inout SessionState
    ) {
        record.result.failure = failure
        record.result.sentence = sentence
        session.tasks.feed(.fail, to: record)
    }

    // MARK: - Commits

    /// Handles a complete body: commits the file or computes the digest, if necessary, and stores the response.
    static func commit(_ record: TaskRecord, in session: inout SessionState) {
        if session.revalidator.restore(record, &session.tasks) { return }
        if record.needsProof, let target = record.target { return session.gates.confirm(record.number, at: target) }
        if record.download.file == nil, !record.needsDigestOfMemory { return self.finish(record, in: &session) }
        if record.download.file != nil, session.journal.recordCommit(record, &session.tasks) { return }
        session.bodies.commit(record, &session.tasks)
    }

    /// Fetches a body again that may be a portal's page, if its destination and its request allow it.
    static func refuse(_ record: TaskRecord, for shut: GateEvaluator.Shut, in session: inout SessionState) {
        guard record.isStream || !record.request.isIdempotent || !session.requests.canSendBody(record) else {
            let discarded = record.download.partial.offset
            record.download.partial = PartialBody()
            return self.fetchAgain(record, discarding: discarded, in: &session)
        }
        record.result.failure = .gateTimeout
        record.result.requireUnmet = shut.requirement
        record.result.sentence = FailureSentence("\(shut.clause), so a portal may have answered", of: "no proof")
        session.failures.attribute(.gateTimeout, record)
        session.tasks.feed(.committed(isGood: false), to: record)
    }

    private static func fetchAgain(_ record: TaskRecord, discarding bytes: Int64, in session: inout SessionState) {
        session.tasks.publish(.restarted(discarded: bytes), record)
        session.bodies.forgetBody(record)
        session.tasks.feed(.commitLeads, to: record)
    }

    /// Handles a report of the disk's thread.
    static func diskReported(_ event: DiskEvent, _ record: TaskRecord, in session: inout SessionState) {
        switch event {
        case .committed(let result): self.committed(record, result, in: &session)
        case .cleaned: self.publishEnd(of: record, in: &session)
        case .restored(let body):
            session.revalidator.reportProblems(&session.tasks)
            session.revalidator.restored(body, record, &session.tasks)
        // Storing a response does not affect the task, even if it fails.
        case .stored:
            session.revalidator.reportProblems(&session.tasks)
            session.tasks.feed(.committed(isGood: true), to: record)
        case .refused: session.tasks.feed(.committed(isGood: false), to: record)
        }
    }

    // Ends a task whose body and response are in place.
    private static func finish(_ record: TaskRecord, in session: inout SessionState) {
        if !session.revalidator.store(record, &session.tasks) {
            session.tasks.feed(.committed(isGood: true), to: record)
        }
    }

    private static func committed(
        _ record: TaskRecord, _ result: Result<Bool, FileError>, in session: inout SessionState
    ) {
        guard !record.machine.isOver else { return }
        record.result.sha256 = record.download.commit?.digest?.description
        guard let path = record.destination.path else {
            return self.summedUp(record, isGood: (try? result.get()) == true, in: &session)
        }
        switch result {
        case .success(false): self.summedUp(record, isGood: false, in: &session)
        case .success(true):
            record.download.hasTemporary = false
            record.result.movedTo = path
            session.tasks.publish(.moved(file: path), record)
            self.finish(record, in: &session)
        case .failure(let error) where error.failure == .diskFull && record.waitsForResources:
            session.bodies.waitForRoom(record, error, &session.tasks)
        case .failure(let error) where error.isDescriptorShortage && record.waitsForResources:
            session.bodies.waitToCommit(record, &session.tasks)
        case .failure(let error):
            session.tasks.publish(.moveFailed(file: path, errorNumber: error.code), record)
            record.result.failure = error.failure
            record.result.sentence = FailureSentence(error.description)
            session.failures.attribute(error.failure, record)
            session.tasks.feed(.committed(isGood: false), to: record)
        }
    }

    // Handles the digest of a body before the task receives the body.
    private static func summedUp(_ record: TaskRecord, isGood: Bool, in session: inout SessionState) {
        guard !isGood, let wanted = record.request.options.sha256, let found = record.download.commit?.digest else {
            return isGood
                ? self.finish(record, in: &session) : session.tasks.feed(.committed(isGood: false), to: record)
        }
        if session.bodies.mayFetchAgain(record) {
            return self.fetchAgain(record, discarding: record.download.partial.restart(), in: &session)
        }
        // The download cannot be continued.
        _ = record.download.partial.restart()
        record.download.body = []
        record.result.failure = .digestMismatch
        let message = wanted.mismatch(found)
        record.result.sentence = FailureSentence(message, of: record.request.address.textWithoutQuery)
        session.failures.attribute(.digestMismatch, record)
        session.tasks.feed(.committed(isGood: false), to: record)
    }

    // MARK: - Ends

    /// Ends a task whose machine is done: removes it from all tables, handles its files on the disk, and then
    /// publishes.
    static func end(_ record: TaskRecord, in session: inout SessionState) {
        record.clocks.follow(record.clockInputs, at: session.tasks.now)
        record.clocks.stop()
        session.tasks.cancelTimer(record)
        session.admission.releaseConnection(record, &session.tasks)
        session.admission.limiter.withdraw(record.number)
        session.gates.detach(record.number, &record.gate)
        session.origins.leaveCircuit(record, &session.tasks)
        session.origins.leaveProbe(record, &session.tasks)
        session.delegate.stopAsking(record, &session.tasks)
        record.download.commit?.abandon()
        if !session.bodies.clean(record, &session.tasks) { self.publishEnd(of: record, in: &session) }
    }

    /// Publishes the task's end after the journal has it and its handler has returned; nothing follows.
    static func publishEnd(of record: TaskRecord, in session: inout SessionState) {
        guard !record.result.isPublished, case .ended(let outcome) = record.machine.phase else { return }
        let result = record.result(outcome, at: session.tasks.now)
        guard session.journal.isEndWritten(record, result, &session.tasks) else { return }
        session.tasks.add(.show(record))
        if record.task.handlers?.completion != nil {
            let isAwaited = record.delegate?.didFinishHandler != true
            session.tasks.add(.runHandler(record.task, result, isAwaited: isAwaited))
            if isAwaited { return }
        }
        record.result.isPublished = true
        session.tasks.add(
            .end(
                record.task, result,
                EndOfTask(
                    resumeData: session.bodies.resumeData(of: record), isPreserved: record.isPreserved,
                    // They start, unless this task continues in the next process.
                    dependents: record.isPreserved ? [] : record.journal?.dependents ?? [],
                    bodyBytes: record.download.body.count)))
        record.download.file = nil
        session.tasks.remove(record)
    }

    /// Handles the return of a completion handler on another executor, or the end of the wait for it.
    static func handlerReturned(_ record: TaskRecord, in session: inout SessionState) {
        if record.task.handlers?.completion != nil { record.ownDelegate.didFinishHandler = true }
        self.publishEnd(of: record, in: &session)
    }
}

extension TaskRecord {
    fileprivate func result(_ outcome: TaskOutcome, at now: MonotonicTime) -> TaskResult {
        let partial = self.download.partial
        let failure: TaskFailure? =
            switch outcome {
            case .success: nil
            case .failure: self.result.failure ?? .internal
            case .cancelled: .cancelled
            }
        let isGood = outcome == .success
        let held = self.keepsBytes || self.isStream ? max(0, partial.offset - partial.start) : 0
        return TaskResult(
            id: self.task.id, name: self.request.options.name, key: self.task.journaled?.value.description.key,
            kind: self.request.kind, method: self.request.method, url: self.request.url, outcome: outcome,
            status: self.result.status, file: isGood ? self.result.movedTo : nil,
            bytes: isGood ? self.result.delivered : held, wireBytes: self.result.wireBytes,
            sentBytes: self.result.sentBytes, refetchedBytes: self.result.refetched,
            attempts: self.retry.counter.charged, held: self.machine.heldTotals,
            duration: self.result.firstResumed.map { now - $0 } ?? .zero, phases: self.result.phases,
            failure: failure, attribution: outcome == .failure ? self.result.attribution : nil,
            explanation: isGood ? nil : outcome == .cancelled ? "the task was cancelled" : self.result.sentence?.text,
            requireUnmet: outcome == .failure ? self.result.requireUnmet : nil, sha256: self.result.sha256,
            clause: outcome == .failure ? self.result.sentence?.clause : nil,
            activeTime: self.clocks.activeTime(at: now), isRevalidated: isGood && self.result.isRevalidated)
    }
}
