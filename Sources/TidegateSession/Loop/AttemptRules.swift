internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// One attempt of a task, from its addresses to its end.
enum AttemptRules {
    static func start(_ record: TaskRecord, in session: inout SessionState) {
        guard let target = record.target else { return }
        session.renewPoolIfStale()
        let now = session.tasks.now
        let id = AttemptID(task: record.number, attempt: record.machine.attempts)
        record.attempt.live = LiveAttempt(
            id: id, number: record.machine.attempts, tryNumber: record.attempt.beginTry(), started: now,
            knowing: target.known)
        record.task.shared.exchanges?.begin(
            Exchange(number: record.machine.attempts, of: record.hop, record.request, at: session.requests.wallTime))
        record.attempt.headers = nil
        (record.gate.wasReported, record.gate.isConfirmed) = (false, false)
        record.gate.shut = nil
        record.clocks.attemptStarted(at: now)
        if record.result.started == nil { record.result.started = session.requests.wallTime }
        if let addresses = session.gates.addresses(of: target, at: now) {
            self.launch(record, on: addresses, in: &session)
        } else if let question = session.gates.awaitAddresses(record.number, &record.gate, of: target) {
            session.tasks.add(question)
        }
    }

    /// Handles the result of a name lookup.
    static func resolved(
        _ result: Result<[IPAddress], ResolveFailure>, lookup: Int, of target: TargetState,
        in session: inout SessionState
    ) {
        var failed: [(TaskRecord, AttemptEnd)] = []
        // The answer is kept for other tasks; the resolver knows how long it is valid.
        let expiry = session.tasks.now + .seconds(5)
        for number in target.name.resolved(result, lookup: lookup, until: expiry) {
            guard let record = session.tasks[number], let live = record.live, !live.isLaunched else { continue }
            live.resolve = session.tasks.now - live.started
            switch result {
            case .success(let addresses): self.launch(record, on: addresses, in: &session)
            case .failure(let failure):
                var end = self.abort(
                    record, .resolveFailed, failure.message(for: target.target.shownHost), in: &session)
                end.resolveFailure = failure
                failed.append((record, end))
            }
        }
        for (record, end) in failed { record.attemptDidFinish(end, in: &session) }
    }

    /// Starts the attempt on these addresses, after hooks have decided what it sends and the journal has recorded it.
    static func launch(_ record: TaskRecord, on addresses: [IPAddress], in session: inout SessionState) {
        // Behind a proxy the addresses are the proxy's.
        if record.attempt.proxy == nil {
            do throws(RedirectError) {
                try record.policies.redirects.check(addresses, of: record.hop)
            } catch {
                return self.cannotStart(record, error.failure, error.sentence, in: &session)
            }
        }
        guard let live = record.live, !session.asksForHeaders(record, live, on: addresses),
            !session.asksForNewBody(record, live, on: addresses),
            session.journal.mayReachWire(record, attempt: live.id, on: addresses, &session.tasks)
        else { return }
        guard session.requests.canEvaluateTrust(record) else {
            let message =
                "the app cannot evaluate a server's certificates behind an https proxy; use an http or a SOCKS proxy"
            return self.cannotStart(record, .invalidRequest, message, in: &session)
        }
        do throws(FileError) {
            try session.bodies.checkUpload(record)
            let sink = try session.bodies.sink(of: record)
            session.tasks.add(.launch(session.requests.make(record, live, addresses: addresses, sink: sink)))
            live.pool = session.pool.current
            record.target?.pooled.launched(knowing: record.target?.known, generation: session.pool.current)
            session.tasks.touch(record)
        } catch  where error.isDescriptorShortage && record.waitsForResources {
            _ = self.abort(record, .internal, HoldReason.descriptors.description, in: &session)
            session.bodies.waitForDescriptors(record, &session.tasks)
        } catch {
            self.cannotStart(record, error.failure, session.bodies.message(for: error, record), in: &session)
        }
    }

    /// Handles an attempt that could not start: nothing was sent, so nothing is charged.
    ///
    /// `earlier` is the reason why the attempt was needed, if the task fails for that reason.
    static func cannotStart(
        _ record: TaskRecord, _ failure: TaskFailure, _ message: String,
        after earlier: DelegateState.UploadFailure? = nil, in session: inout SessionState
    ) {
        // The engine does not have this attempt.
        record.live?.pool = nil
        let end = self.abort(record, failure, message, in: &session)
        session.failures.publishFailure(record, end, failure, isCharged: false, &session.tasks)
        if failure == .diskFull, record.waitsForResources {
            return session.bodies.waitForDisk(record, message, &session.tasks)
        }
        guard var earlier else { return EndRules.fail(record, failure, FailureSentence(message), in: &session) }
        earlier.sentence.clause += ", and no new stream was given to send the body again"
        record.result.attribution = earlier.attribution
        EndRules.fail(record, earlier.failure, earlier.sentence, in: &session)
    }

    // MARK: - Pauses and repetitions

    static func pause(_ record: TaskRecord, in session: inout SessionState) {
        guard let live = record.live, live.isLaunched else { return self.releaseConnection(record, in: &session) }
        session.tasks.add(.pause(live.id))
        session.tasks.schedule(.pause, of: record, after: session.configuration.pauseLimit)
    }

    static func unpause(_ record: TaskRecord, in session: inout SessionState) {
        record.clocks.cancel(.pause)
        if let live = record.live { session.tasks.add(.unpause(live.id)) }
    }

    /// Returns the connection of a suspended task, if its request may be sent again.
    static func releaseConnection(_ record: TaskRecord, in session: inout SessionState) {
        if self.mayAbort(record, in: session) { session.tasks.feed(.releaseConnection, to: record) }
    }

    /// True if the attempt may be replaced by another one without repeating its request or its body.
    static func mayAbort(_ record: TaskRecord, in session: borrowing SessionState) -> Bool {
        self.mayRepeat(record, in: session) && !self.isDeliveredForGood(record, in: session)
    }

    /// True if the attempt's request may and can be sent again.
    static func mayRepeat(_ record: TaskRecord, in session: borrowing SessionState) -> Bool {
        (record.request.isIdempotent || record.live?.contact == nil) && session.requests.canSendBody(record)
    }

    /// True if part of the body can neither be taken back from its destination nor be continued.
    static func isDeliveredForGood(_ record: TaskRecord, in session: borrowing SessionState) -> Bool {
        guard record.isStream, record.download.partial.validator == nil, let live = record.live else { return false }
        let progress = session.engine.progress(of: live.id) ?? live.progress
        return record.download.partial.offset > 0 || progress.received > 0
    }

    // MARK: - Reports

    // The body of a redirect is only read to keep its connection.
    private static let redirectBodyTime = Duration.seconds(2)

    /// Handles a report from the engine.
    static func attempt(_ record: TaskRecord, reported report: AttemptReport, in session: inout SessionState) {
        switch report {
        case .wireReached(let contact): self.wireReached(contact, record, in: &session)
        case .head(let head): self.headArrived(head, record, in: &session)
        case .progress(let progress): self.progressed(progress, record, in: &session)
        case .finished(let outcome): self.finished(outcome, record, in: &session)
        }
    }

    private static func wireReached(_ contact: ConnectionFacts, _ record: TaskRecord, in session: inout SessionState) {
        guard let target = record.target else { return }
        record.live?.contact = contact
        record.live?.path.connected(on: target.verdict(for: contact.remote).path)
        record.retry.linkFailures = 0
        if record.request.options.lowestBytesPerSecond != nil {
            record.live?.speed = SpeedWatch(at: session.tasks.now)
            session.tasks.schedule(.speed, of: record, after: SpeedWatch.interval)
            session.tasks.touch(record)
        }
        session.admission.connected(record, &session.tasks)
    }

    private static func headArrived(_ head: ResponseHead, _ record: TaskRecord, in session: inout SessionState) {
        record.live?.head = head
        session.noteHead(record)
        record.result.status = head.status
        session.tasks.publish(.responseHead(status: head.status, expectedBytes: head.totalLength), record)
        if session.delegate.isObserved(record.task) {
            session.tasks.add(.showResponse(record.task, head, url: record.hop.url.text))
        }
        record.clocks.bytesMoved(at: session.tasks.now)
        if RedirectRule.isRedirect(head.status), head.field("Location") != nil, record.request.options.maxRedirects > 0
        {
            session.tasks.schedule(.redirect, of: record, after: self.redirectBodyTime)
            session.tasks.touch(record)
        }
        // The metadata of a refused response does not describe the held body.
        guard head.range == .append || head.range == .restartFromZero else { return }
        if record.download.partial.offset > 0, head.range == .restartFromZero {
            guard !record.isStream else {
                // Data written to a pipe cannot be taken back.
                let offset = record.download.partial.offset
                let message = "the body changed on the server after \(offset) bytes had been delivered"
                return record.attemptDidFinish(self.abort(record, .rangeMismatch, message, in: &session), in: &session)
            }
            session.tasks.publish(.restarted(discarded: record.download.partial.restart()), record)
            record.delegate?.digest?.reset()
        }
        let offset = record.download.partial.offset
        if offset > 0 { session.tasks.publish(.continued(offset: offset, total: head.totalLength), record) }
        record.delegate?.observedOffset = offset
        record.download.partial.begin(head, canContinue: record.keepsBytes)
        if let live = record.live, live.hook == .awaitsHead { session.askForDisposition(head, record, live) }
    }

    private static func progressed(_ progress: AttemptProgress, _ record: TaskRecord, in session: inout SessionState) {
        record.live?.progress = progress
        record.clocks.bytesMoved(at: progress.lastActivity)
        session.delegate.flushData(record, &session.tasks)
        self.publishProgress(record, in: &session)
        session.bodies.noteOffset(record, &session.tasks)
        session.bodies.beginWriteBack(record, &session.tasks)
        // Received bytes only postpone the task's clocks: a timer that fires too early checks again.
        session.tasks.add(.showProgress(record))
    }

    /// Handles the end of the attempt in the engine.
    static func finished(_ outcome: Indirect<AttemptOutcome>, _ record: TaskRecord, in session: inout SessionState) {
        guard let live = record.live, !self.waitsForHook(outcome, record, live, in: session) else { return }
        live.progress = outcome.value.progress
        live.head = outcome.value.head ?? live.head
        live.contact = outcome.value.connection ?? live.contact
        var end = AttemptEnd(live, outcome)
        session.revalidator.take(&end, record)
        self.closeAccounts(&end, record, in: &session)
        record.attemptDidFinish(end, in: &session)
    }

    // The end of an attempt waits for a pending hook.
    private static func waitsForHook(
        _ outcome: Indirect<AttemptOutcome>, _ record: TaskRecord, _ live: LiveAttempt,
        in session: borrowing SessionState
    ) -> Bool {
        guard live.hook == .asked, outcome.value.failure == nil,
            case .disposition(let id, _)? = record.delegate?.question
        else { return false }
        record.delegate?.question = .disposition(id, end: outcome)
        return true
    }

    // MARK: - The end of an attempt

    /// Ends an attempt, and decides what follows.
    static func giveUpAttempt(
        _ record: TaskRecord, _ failure: TaskFailure, _ message: String, in session: inout SessionState
    ) {
        guard record.live != nil else { return }
        record.attemptDidFinish(self.abort(record, failure, message, in: &session), in: &session)
    }

    /// Removes the attempt from the engine and counts its bytes.
    static func abort(_ record: TaskRecord, _ failure: TaskFailure, _ text: String, in session: inout SessionState)
        -> AttemptEnd
    {
        let now = session.tasks.now
        guard let live = record.live else {
            let nothing = LiveAttempt(id: AttemptID(rawValue: 0), number: 0, started: now, knowing: nil)
            return AttemptEnd(nothing, failure, text, at: now)
        }
        if live.isLaunched {
            live.progress = session.engine.progress(of: live.id) ?? live.progress
            session.tasks.add(.discard(live.id))
        }
        var end = AttemptEnd(
            live, failure, text, at: now, isConnected: session.engine.isConnected(live.id),
            failedConnect: session.engine.failedConnect(of: live.id))
        self.closeAccounts(&end, record, in: &session)
        return end
    }

    // The attempt's object stays for the steps after its end.
    private static func closeAccounts(
        _ end: inout AttemptEnd, _ record: TaskRecord, in session: inout SessionState
    ) {
        guard let live = record.live else { return }
        if record.gate.isListed { record.target?.name.stopWaiting(record.number) }
        record.clocks.attemptEnded()
        session.delegate.flushData(record, &session.tasks)
        self.publishProgress(record, isLast: end.failure == nil, in: &session)
        self.countBody(live, &end, record, in: &session)
        session.failures.notePeer(end, record, at: session.tasks.now)
        let isMute = end.failure == .timedOut && end.outcome.stage == .tls
        record.target?.name.tried(
            silent: end.outcome.silentAddresses, answered: isMute ? nil : end.outcome.connectedTo,
            mute: isMute ? end.outcome.connectedTo : nil, at: session.tasks.now)
        var phases = end.outcome.phases
        phases.resolve = live.resolve
        record.result.phases = phases
        record.result.status = end.status ?? record.result.status
        if end.failure == nil { record.download.finalProgress = record.progress }
        if let head = end.outcome.head { record.result.head = head }
        record.task.shared.exchanges?.end(end.summary(of: record), end.failure)
        record.attempt.live = nil
        session.journal.noteReach(record, reachedWire: end.mayBeProcessed, &session.tasks)
        session.admission.releaseConnection(record, &session.tasks)
    }

    private static func countBody(
        _ live: LiveAttempt, _ end: inout AttemptEnd, _ record: TaskRecord, in session: inout SessionState
    ) {
        let progress = live.progress
        record.result.wireBytes += progress.receivedWire
        record.result.sentBytes += progress.sent
        guard progress.received > 0 else { return }
        // Without compression an offset on the wire is an offset in the file.
        let isKept = record.keepsBytes || record.isStream || end.failure == nil
        let continues = progress.offset > 0 || record.download.partial.furthest == 0
        let again = record.download.partial.take(from: progress.offset, received: progress.received, isKept: isKept)
        end.gained = continues ? progress.received : 0
        record.result.refetched += again
        if again > 0 { session.tasks.publish(.refetched(bytes: again), record) }
    }

    private static func publishProgress(_ record: TaskRecord, isLast: Bool = false, in session: inout SessionState) {
        guard let live = record.live else { return }
        let (progress, before) = (live.progress, live.published ?? TaskEvent.ByteCounts())
        let now = TaskEvent.ByteCounts(received: progress.receivedWire, sent: progress.sent)
        guard now != before || (isLast && live.published == nil) else { return }
        live.published = now
        let delta = TaskEvent.ByteCounts(received: now.received - before.received, sent: now.sent - before.sent)
        let shown = record.progress
        session.tasks.publish(.progress(shown, delta: delta), record)
        if session.delegate.isObserved(record.task) { session.tasks.add(.reportProgress(record.task, shown)) }
    }
}
