internal import TidegateCore
internal import TidegateTransfer

/// Takes in what the engine reports of attempts, and closes an attempt's accounts at its end: bytes, phases, connection.
final class AttemptReports {
    private let engine: TransferEngine
    private let driver: TaskDriver
    private let lookup: AddressLookup
    private let admission: AttemptAdmission
    private let failures: FailureReporter
    private let bodies: TaskBodies
    private let delegate: DelegateDispatcher
    private let journal: JournalWriter
    private let revalidator: ResponseRevalidator
    /// Tasks whose response's head came in this batch.
    private var withHead: [TaskRecord] = []

    init(
        engine: TransferEngine, driver: TaskDriver, lookup: AddressLookup, admission: AttemptAdmission,
        failures: FailureReporter, bodies: TaskBodies, delegate: DelegateDispatcher, journal: JournalWriter,
        revalidator: ResponseRevalidator
    ) {
        self.engine = engine
        self.driver = driver
        self.lookup = lookup
        self.admission = admission
        self.failures = failures
        self.bodies = bodies
        self.delegate = delegate
        self.journal = journal
        self.revalidator = revalidator
    }

    /// Takes a report of the engine's in; gives the attempt's end if it is over.
    func attempt(_ record: TaskRecord, reported report: AttemptReport) -> AttemptEnd? {
        switch report {
        case .wireReached(let contact): self.wireReached(contact, record)
        case .head(let head): return self.headArrived(head, record)
        case .progress(let progress): self.progressed(progress, record)
        case .finished(let outcome): return self.finished(outcome, record)
        }
        return nil
    }

    private func wireReached(_ contact: ConnectionFacts, _ record: TaskRecord) {
        guard let target = record.target else { return }
        record.live?.contact = contact
        record.live?.path.connected(on: target.verdict(for: contact.remote).path)
        record.retry.linkFailures = 0
        self.admission.connected(record)
    }

    private func headArrived(_ head: ResponseHead, _ record: TaskRecord) -> AttemptEnd? {
        record.live?.head = head
        self.withHead.append(record)
        record.result.status = head.status
        self.driver.publish(.responseHead(status: head.status, expectedBytes: head.totalLength), record)
        if self.delegate.isObserved(record.task) { self.driver.publisher.flush() }
        self.delegate.didReceive(head, from: record.hop.url.text, record.task)
        record.clocks.bytesMoved(at: self.driver.now)
        // What a refused response says of its body is not true of the body that is held.
        guard head.range == .append || head.range == .restartFromZero else { return nil }
        if record.download.partial.offset > 0, head.range == .restartFromZero {
            guard !record.isStream else {
                // What has been written to a pipe cannot be taken back.
                let offset = record.download.partial.offset
                let message = "the body changed on the server after \(offset) bytes had been delivered"
                return self.abort(record, .rangeMismatch, message)
            }
            self.driver.publish(.restarted(discarded: record.download.partial.restart()), record)
            record.delegate?.digest?.reset()
        }
        if record.download.partial.offset > 0 {
            self.driver.publish(.continued(offset: record.download.partial.offset, total: head.totalLength), record)
        }
        record.delegate?.observed.offset = record.download.partial.offset
        record.download.partial.begin(head, canContinue: record.keepsBytes)
        if let live = record.live, live.hook == .awaitsHead { self.askForDisposition(head, record, live) }
        return nil
    }

    private func askForDisposition(_ head: ResponseHead, _ record: TaskRecord, _ live: LiveAttempt) {
        guard let hook = self.delegate.hook(record.task, \.disposition) else { return }
        let (task, response) = (record.task, TaskResponse(head, url: record.hop.url.text))
        live.hook = .asked
        self.delegate.ask(record.ownDelegate, of: record.number, .disposition(live.id, end: nil)) {
            .disposition(await hook(task, response))
        }
        self.driver.touch(record)
    }

    private func progressed(_ progress: AttemptProgress, _ record: TaskRecord) {
        record.live?.progress = progress
        record.clocks.bytesMoved(at: progress.lastActivity)
        self.flushData(record)
        self.publishProgress(record)
        self.bodies.noteOffset(record)
        self.bodies.beginWriteBack(record)
        self.driver.showProgress(record)
    }

    private func finished(_ outcome: AttemptOutcome, _ record: TaskRecord) -> AttemptEnd? {
        guard let live = record.live, !self.waitsForHook(outcome, record, live) else { return nil }
        live.progress = outcome.progress
        live.head = outcome.head ?? live.head
        live.contact = outcome.connection ?? live.contact
        var end = AttemptEnd(live, outcome)
        self.revalidator.take(&end, record)
        return self.closeAccounts(end, record)
    }

    // An attempt's end waits for the answer of a hook that is asked about it.
    private func waitsForHook(_ outcome: AttemptOutcome, _ record: TaskRecord, _ live: LiveAttempt) -> Bool {
        guard live.hook == .asked, outcome.failure == nil,
            case .disposition(let attempt, _)? = record.delegate?.hook.question
        else { return false }
        record.delegate?.hook.question = .disposition(attempt, end: outcome)
        return true
    }

    /// Passes on what observers have not got yet of the body.
    func flushData(_ record: TaskRecord) {
        guard let state = record.delegate, state.observed.observer != nil else { return }
        self.driver.publisher.flush()
        self.delegate.flushData(state, of: record.task)
    }

    /// Shows the heads of responses that did not come whole in this batch.
    func flushHeads() {
        guard !self.withHead.isEmpty else { return }
        for record in self.withHead where record.live?.head != nil { self.driver.touch(record) }
        self.withHead.removeAll(keepingCapacity: true)
    }

    // MARK: - The end of an attempt

    /// Ends the attempt on the wire and counts what it brought.
    func abort(_ record: TaskRecord, _ failure: TaskFailure, _ text: String) -> AttemptEnd {
        let now = self.driver.now
        guard let live = record.live else {
            let nothing = LiveAttempt(id: AttemptID(rawValue: 0), number: 0, started: now, knowing: nil)
            return AttemptEnd(nothing, failure, text, at: now)
        }
        if live.isLaunched { live.progress = self.engine.progress(of: live.id) ?? live.progress }
        let end = AttemptEnd(
            live, failure, text, at: now, isConnected: self.engine.isConnected(live.id),
            failedConnect: self.engine.failedConnect(of: live.id))
        if live.isLaunched { self.engine.discard(live.id) }
        return self.closeAccounts(end, record)
    }

    // The attempt's object stays for whatever follows from its end.
    private func closeAccounts(_ end: consuming AttemptEnd, _ record: TaskRecord) -> AttemptEnd {
        guard let live = record.live else { return end }
        self.lookup.stopAwaitingAddresses(record.number, record.gate)
        record.clocks.attemptEnded()
        self.flushData(record)
        self.publishProgress(record, isLast: end.failure == nil)
        self.countBody(live, &end, record)
        self.failures.notePeer(end, record)
        record.target?.name.tried(
            silent: end.outcome.silentAddresses, answered: end.outcome.connectedTo, at: self.driver.now)
        var phases = end.outcome.phases
        phases.resolve = live.resolve
        record.result.phases = phases
        record.result.status = end.status ?? record.result.status
        if end.failure == nil { record.download.finalProgress = record.progress }
        if let head = end.outcome.head { record.result.head = head }
        record.task.shared.exchanges?.end(end.summary(of: record.attempt), end.failure)
        record.attempt.live = nil
        if let state = record.journal {
            self.journal.noteReach(
                state, of: record.task, reachedWire: end.reachedWire, isOver: record.machine.isOver)
        }
        self.admission.releaseConnection(record)
        return end
    }

    private func countBody(_ live: LiveAttempt, _ end: inout AttemptEnd, _ record: TaskRecord) {
        let progress = live.progress
        record.result.wireBytes += progress.receivedWire
        record.result.sentBytes += progress.sent
        guard progress.received > 0 else { return }
        // Without compression an offset on the wire is an offset in the file.
        let isKept = record.keepsBytes || record.isStream || end.failure == nil
        let furthest = record.download.partial.furthest
        let again = record.download.partial.take(
            from: progress.offset, received: progress.received, isKept: isKept)
        end.gained = record.download.partial.furthest - furthest
        record.result.refetched += again
        if again > 0 { self.driver.publish(.refetched(bytes: again), record) }
    }

    private func publishProgress(_ record: TaskRecord, isLast: Bool = false) {
        guard let live = record.live else { return }
        let (progress, before) = (live.progress, live.published ?? TaskEvent.ByteCounts())
        let now = TaskEvent.ByteCounts(received: progress.receivedWire, sent: progress.sent)
        guard now != before || (isLast && live.published == nil) else { return }
        live.published = now
        let delta = TaskEvent.ByteCounts(received: now.received - before.received, sent: now.sent - before.sent)
        self.driver.publish(.progress(record.progress, delta: delta), record)
        if self.delegate.isObserved(record.task) { self.driver.publisher.flush() }
        self.delegate.didProgress(record.task, record.progress)
    }
}
