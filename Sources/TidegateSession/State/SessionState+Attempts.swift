internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

// One attempt of a task, from its addresses to the moment at which it is over.
extension SessionState {
    mutating func start(_ record: TaskRecord) {
        guard let target = record.target else { return }
        self.renewPoolIfStale()
        let now = self.tasks.now
        let id = AttemptID(task: record.number, attempt: record.machine.attempts)
        record.attempt.live = LiveAttempt(
            id: id, number: record.machine.attempts, tryNumber: record.attempt.beginTry(), started: now,
            knowing: target.known)
        record.task.shared.exchanges?.begin(
            Exchange(number: record.machine.attempts, of: record.hop, record.request, at: self.requests.wallTime))
        record.attempt.headers = nil
        record.gate.wasReported = false
        record.gate.shut = nil
        record.clocks.attemptStarted(at: now)
        if record.result.started == nil { record.result.started = self.requests.wallTime }
        if let addresses = self.gates.addresses(of: target, at: now) {
            self.launch(record, on: addresses)
        } else if let question = self.gates.awaitAddresses(record.number, &record.gate, of: target) {
            self.tasks.add(question)
        }
    }

    /// A name was resolved, or could not be.
    mutating func resolved(
        _ result: Result<[IPAddress], ResolveFailure>, lookup: Int, of target: TargetState
    ) {
        var failed: [(TaskRecord, AttemptEnd)] = []
        for number in self.gates.resolved(result, lookup: lookup, of: target, at: self.tasks.now) {
            guard let record = self.tasks[number], let live = record.live, !live.isLaunched else { continue }
            live.resolve = self.tasks.now - live.started
            switch result {
            case .success(let addresses): self.launch(record, on: addresses)
            case .failure(let failure):
                var end = self.abort(record, .resolveFailed, failure.message(for: target.target.shownHost))
                end.resolveFailure = failure
                failed.append((record, end))
            }
        }
        for (record, end) in failed { self.attemptDidFinish(record, end) }
    }

    /// Starts the attempt on these addresses, once hooks have said what it sends and the journal has it.
    mutating func launch(_ record: TaskRecord, on addresses: [IPAddress]) {
        // Behind a proxy the addresses are the proxy's.
        if record.attempt.proxy == nil {
            do throws(RedirectError) {
                try RedirectRule.check(addresses, of: record.hop, policy: record.redirectPolicy)
            } catch {
                return self.cannotStart(record, error.failure, error.sentence)
            }
        }
        guard let live = record.live, !self.asksForHeaders(record, live, on: addresses),
            !self.asksForNewBody(record, live, on: addresses),
            self.journal.mayReachWire(record, attempt: live.id, on: addresses, &self.tasks)
        else { return }
        guard self.requests.canEvaluateTrust(record) else {
            let message =
                "the app cannot evaluate a server's certificates behind an https proxy; use an http or a SOCKS proxy"
            return self.cannotStart(record, .invalidRequest, message)
        }
        do throws(FileError) {
            try self.bodies.checkUpload(record)
            let sink = try self.bodies.sink(of: record)
            self.tasks.add(.launch(self.requests.make(record, live, addresses: addresses, sink: sink)))
            live.pool = self.pool.current
            record.target?.pooled.launched(knowing: record.target?.known, generation: self.pool.current)
            self.tasks.touch(record)
        } catch  where error.isDescriptorShortage && record.waitsForResources {
            _ = self.abort(record, .internal, HoldReason.descriptors.description)
            self.bodies.waitForDescriptors(record, &self.tasks)
        } catch {
            self.cannotStart(record, error.failure, self.bodies.message(for: error, record))
        }
    }

    /// Nothing was sent, so nothing is charged.
    mutating func cannotStart(_ record: TaskRecord, _ failure: TaskFailure, _ message: String) {
        // The engine has nothing of it.
        record.live?.pool = nil
        let end = self.abort(record, failure, message)
        self.failures.publishFailure(record, end, failure, isCharged: false, &self.tasks)
        if failure == .diskFull, record.waitsForResources {
            return self.bodies.waitForDisk(record, message, &self.tasks)
        }
        self.fail(record, failure, FailureSentence(message))
    }

    // MARK: - Pauses and repetitions

    mutating func pause(_ record: TaskRecord) {
        guard let live = record.live, live.isLaunched else { return self.releaseConnection(record) }
        self.tasks.add(.pause(live.id))
        self.tasks.schedule(.pause, of: record, after: self.configuration.pauseLimit)
    }

    mutating func unpause(_ record: TaskRecord) {
        record.clocks.cancel(.pause)
        if let live = record.live { self.tasks.add(.unpause(live.id)) }
    }

    /// Gives the connection of a suspended task back, if its request may be sent again.
    mutating func releaseConnection(_ record: TaskRecord) {
        if self.mayAbort(record) { self.tasks.feed(.releaseConnection, to: record) }
    }

    /// True if the attempt may be ended and another one made: neither its request nor its body comes twice.
    func mayAbort(_ record: TaskRecord) -> Bool { self.mayRepeat(record) && !self.isDeliveredForGood(record) }

    /// True if the attempt's request may be sent once more, and can be.
    func mayRepeat(_ record: TaskRecord) -> Bool {
        (record.request.isIdempotent || record.live?.contact == nil) && self.requests.canSendBody(record)
    }

    /// True if a part of the body has gone where it cannot be taken back from, and cannot be continued.
    func isDeliveredForGood(_ record: TaskRecord) -> Bool {
        guard record.isStream, record.download.partial.validator == nil, let live = record.live else { return false }
        let progress = self.engine.progress(of: live.id) ?? live.progress
        return record.download.partial.offset > 0 || progress.received > 0
    }

    // MARK: - Reports

    /// Takes a report of the engine's in.
    mutating func attempt(_ record: TaskRecord, reported report: AttemptReport) {
        switch report {
        case .wireReached(let contact): self.wireReached(contact, record)
        case .head(let head): self.headArrived(head, record)
        case .progress(let progress): self.progressed(progress, record)
        case .finished(let outcome): self.finished(outcome, record)
        }
    }

    private mutating func wireReached(_ contact: ConnectionFacts, _ record: TaskRecord) {
        guard let target = record.target else { return }
        record.live?.contact = contact
        record.live?.path.connected(on: target.verdict(for: contact.remote).path)
        record.retry.linkFailures = 0
        self.admission.connected(record, &self.tasks)
    }

    private mutating func headArrived(_ head: ResponseHead, _ record: TaskRecord) {
        record.live?.head = head
        self.noteHead(record)
        record.result.status = head.status
        self.tasks.publish(.responseHead(status: head.status, expectedBytes: head.totalLength), record)
        if self.delegate.isObserved(record.task) {
            self.tasks.add(.showResponse(record.task, head, url: record.hop.url.text))
        }
        record.clocks.bytesMoved(at: self.tasks.now)
        // What a refused response says of its body is not true of the body that is held.
        guard head.range == .append || head.range == .restartFromZero else { return }
        if record.download.partial.offset > 0, head.range == .restartFromZero {
            guard !record.isStream else {
                // What has been written to a pipe cannot be taken back.
                let offset = record.download.partial.offset
                let message = "the body changed on the server after \(offset) bytes had been delivered"
                return self.attemptDidFinish(record, self.abort(record, .rangeMismatch, message))
            }
            self.tasks.publish(.restarted(discarded: record.download.partial.restart()), record)
            record.delegate?.digest?.reset()
        }
        let offset = record.download.partial.offset
        if offset > 0 { self.tasks.publish(.continued(offset: offset, total: head.totalLength), record) }
        record.delegate?.observed.offset = offset
        record.download.partial.begin(head, canContinue: record.keepsBytes)
        if let live = record.live, live.hook == .awaitsHead { self.askForDisposition(head, record, live) }
    }

    private mutating func progressed(_ progress: AttemptProgress, _ record: TaskRecord) {
        record.live?.progress = progress
        record.clocks.bytesMoved(at: progress.lastActivity)
        self.delegate.flushData(record, &self.tasks)
        self.publishProgress(record)
        self.bodies.noteOffset(record, &self.tasks)
        self.bodies.beginWriteBack(record, &self.tasks)
        // Bytes only put the task's clocks off: a timer that fires too early looks again.
        self.tasks.add(
            .showProgress(record.task, record.progress, lastByte: record.live?.progress.lastActivity))
    }

    /// The engine has ended the attempt.
    mutating func finished(_ outcome: AttemptOutcome, _ record: TaskRecord) {
        guard let live = record.live, !self.waitsForHook(outcome, record, live) else { return }
        live.progress = outcome.progress
        live.head = outcome.head ?? live.head
        live.contact = outcome.connection ?? live.contact
        var end = AttemptEnd(live, outcome)
        self.revalidator.take(&end, record)
        self.attemptDidFinish(record, self.closeAccounts(end, record))
    }

    // An attempt's end waits for the answer of a hook that is asked about it.
    private func waitsForHook(_ outcome: AttemptOutcome, _ record: TaskRecord, _ live: LiveAttempt) -> Bool {
        guard live.hook == .asked, outcome.failure == nil, case .disposition(let id, _)? = record.delegate?.question
        else { return false }
        record.delegate?.question = .disposition(id, end: outcome)
        return true
    }

    // MARK: - The end of an attempt

    /// Ends an attempt, and decides what follows.
    mutating func giveUpAttempt(_ record: TaskRecord, _ failure: TaskFailure, _ message: String) {
        guard record.live != nil else { return }
        self.attemptDidFinish(record, self.abort(record, failure, message))
    }

    /// Takes the attempt off the wire and counts what it brought.
    mutating func abort(_ record: TaskRecord, _ failure: TaskFailure, _ text: String) -> AttemptEnd {
        let now = self.tasks.now
        guard let live = record.live else {
            let nothing = LiveAttempt(id: AttemptID(rawValue: 0), number: 0, started: now, knowing: nil)
            return AttemptEnd(nothing, failure, text, at: now)
        }
        if live.isLaunched {
            live.progress = self.engine.progress(of: live.id) ?? live.progress
            self.tasks.add(.discard(live.id))
        }
        let end = AttemptEnd(
            live, failure, text, at: now, isConnected: self.engine.isConnected(live.id),
            failedConnect: self.engine.failedConnect(of: live.id))
        return self.closeAccounts(end, record)
    }

    // The attempt's object stays for whatever follows from its end.
    private mutating func closeAccounts(_ end: consuming AttemptEnd, _ record: TaskRecord) -> AttemptEnd {
        guard let live = record.live else { return end }
        self.gates.stopAwaitingAddresses(record.number, record.gate)
        record.clocks.attemptEnded()
        self.delegate.flushData(record, &self.tasks)
        self.publishProgress(record, isLast: end.failure == nil)
        self.countBody(live, &end, record)
        self.failures.notePeer(end, record, at: self.tasks.now)
        record.target?.name.tried(
            silent: end.outcome.silentAddresses, answered: end.outcome.connectedTo, at: self.tasks.now)
        var phases = end.outcome.phases
        phases.resolve = live.resolve
        record.result.phases = phases
        record.result.status = end.status ?? record.result.status
        if end.failure == nil { record.download.finalProgress = record.progress }
        if let head = end.outcome.head { record.result.head = head }
        record.task.shared.exchanges?.end(end.summary(of: record.attempt), end.failure)
        record.attempt.live = nil
        self.journal.noteReach(record, reachedWire: end.reachedWire, &self.tasks)
        self.admission.releaseConnection(record, &self.tasks)
        return end
    }

    private mutating func countBody(_ live: LiveAttempt, _ end: inout AttemptEnd, _ record: TaskRecord) {
        let progress = live.progress
        record.result.wireBytes += progress.receivedWire
        record.result.sentBytes += progress.sent
        guard progress.received > 0 else { return }
        // Without compression an offset on the wire is an offset in the file.
        let isKept = record.keepsBytes || record.isStream || end.failure == nil
        let furthest = record.download.partial.furthest
        let again = record.download.partial.take(from: progress.offset, received: progress.received, isKept: isKept)
        end.gained = record.download.partial.furthest - furthest
        record.result.refetched += again
        if again > 0 { self.tasks.publish(.refetched(bytes: again), record) }
    }

    private mutating func publishProgress(_ record: TaskRecord, isLast: Bool = false) {
        guard let live = record.live else { return }
        let (progress, before) = (live.progress, live.published ?? TaskEvent.ByteCounts())
        let now = TaskEvent.ByteCounts(received: progress.receivedWire, sent: progress.sent)
        guard now != before || (isLast && live.published == nil) else { return }
        live.published = now
        let delta = TaskEvent.ByteCounts(received: now.received - before.received, sent: now.sent - before.sent)
        let shown = record.progress
        self.tasks.publish(.progress(shown, delta: delta), record)
        if self.delegate.isObserved(record.task) { self.tasks.add(.reportProgress(record.task, shown)) }
    }
}

extension ResolveFailure {
    fileprivate func message(for host: String) -> String {
        switch self {
        case .nameNotFound: "the name \(host) does not exist or has no address"
        case .timedOut: "no name resolver answered about \(host) in time"
        case .failed: "the name resolver failed about \(host)"
        }
    }
}
