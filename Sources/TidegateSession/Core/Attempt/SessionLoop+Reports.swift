internal import TidegateCore
internal import TidegateTransfer

/// What the engine tells about attempts.
extension SessionLoop {
    /// The task of an attempt; nil where the attempt is over.
    func record(of id: AttemptID) -> TaskRecord? {
        if let latest = self.latestToTell, latest.attempt?.id == id { return latest }
        guard let record = self.records[id.task], record.attempt?.id == id else { return nil }
        self.latestToTell = record
        return record
    }

    func wireReached(_ contact: ConnectionFacts, _ record: TaskRecord) {
        guard let desk = record.desk else { return }
        record.attempt?.contact = contact
        let verdict = desk.verdict(for: self.configuration.proxy == nil ? contact.remote : nil)
        if let path = verdict.path { record.attempt?.path = path }
        record.linkFailures = 0
        if desk.canary == record.number { self.spreadFollowers(of: desk) }
    }

    func headArrived(_ head: ResponseHead, _ record: TaskRecord) {
        record.attempt?.head = head
        self.started.append(record)
        record.tally.status = head.status
        self.publish(.responseHead(status: head.status, expectedBytes: head.totalLength), record)
        self.tellHead(head, record)
        record.clocks.bytesMoved(at: self.now)
        // What a refused answer says of its body is not true of the body that is held.
        guard head.range == .append || head.range == .restartFromZero else { return }
        if record.hold.offset > 0, head.range == .restartFromZero {
            guard !record.isStream else { return self.cannotContinue(record) }
            self.publish(.restarted(discarded: record.hold.restart()), record)
            record.extras?.digest?.reset()
        }
        record.extras?.heardOffset = record.hold.offset
        record.hold.begin(head, canContinue: record.keepsBytes)
        if let live = record.attempt, live.awaitsDisposition { self.askAboutResponse(head, record, live) }
    }

    /// Shows the heads of answers that did not come whole in this batch.
    func settleStarted() {
        guard !self.started.isEmpty else { return }
        for record in self.started where record.attempt?.head != nil { self.settle(record) }
        self.started.removeAll(keepingCapacity: true)
    }

    // What has been written to a pipe cannot be taken back.
    private func cannotContinue(_ record: TaskRecord) {
        let words = "the body changed on the server after \(record.hold.offset) bytes had been delivered"
        self.conclude(record, self.takeOff(record, .rangeMismatch, words))
    }

    func progressed(_ progress: AttemptProgress, _ record: TaskRecord) {
        record.attempt?.progress = progress
        record.clocks.bytesMoved(at: progress.lastActivity)
        self.tellData(record)
        self.tellProgress(record)
        self.noteContinuation(record)
        self.beginWriteBack(record)
        self.showProgress(record)
    }

    // Bytes only put the task's clocks off: nothing else has changed, and a timer that rings too early looks again.
    private func showProgress(_ record: TaskRecord) {
        let (shown, lastByte) = (record.progress, record.attempt?.progress.lastActivity)
        record.task.board.update { board in
            board.face.progress = shown
            board.lastByte = lastByte
        }
    }

    /// Tells how far the bodies are, with what came since the last time.
    func tellProgress(_ record: TaskRecord, isLast: Bool = false) {
        guard let live = record.attempt else { return }
        let delta = TaskEvent.ByteCounts(
            received: live.progress.receivedWire - live.told.received, sent: live.progress.sent - live.told.sent)
        let isNews = delta.received != 0 || delta.sent != 0
        guard isNews || (isLast && !live.wasTold) else { return }
        live.told = TaskEvent.ByteCounts(received: live.progress.receivedWire, sent: live.progress.sent)
        live.wasTold = true
        self.publish(.progress(record.progress, delta: delta), record)
        self.tellHearers(record)
    }

    func finished(_ outcome: AttemptOutcome, _ record: TaskRecord) {
        guard let live = record.attempt, !self.waitsForHook(outcome, record, live) else { return }
        live.progress = outcome.progress
        live.head = outcome.head ?? live.head
        live.contact = outcome.contact ?? live.contact
        let end = AttemptEnd(live, outcome)
        self.account(end, record)
        self.conclude(record, end)
    }

    // MARK: - Counting

    /// Closes the attempt's books: bytes, phases, its connection's slot.
    ///
    /// The attempt itself stays for whoever tells of it.
    func account(_ end: AttemptEnd, _ record: TaskRecord) {
        guard let live = record.attempt else { return }
        self.latestToTell = nil
        if record.standsInLine { record.desk?.resolving.removeAll { $0 == record.number } }
        record.clocks.attemptEnded()
        self.tellData(record)
        self.tellProgress(record, isLast: end.failure == nil)
        self.countBody(live, end, record)
        self.notePeer(end, record)
        var phases = end.outcome.phases
        phases.resolve = live.resolve
        record.tally.phases = phases
        record.tally.status = end.outcome.head?.status ?? record.tally.status
        if end.failure == nil { record.finalProgress = record.progress }
        if let head = end.outcome.head { record.tally.head = head }
        record.attempt = nil
        self.noteReach(record, reachedWire: end.reachedWire)
        self.giveSlotBack(record)
    }

    private func countBody(_ live: LiveAttempt, _ end: AttemptEnd, _ record: TaskRecord) {
        let progress = live.progress
        record.tally.wireBytes += progress.receivedWire
        guard progress.received > 0 else { return }
        // Without compression an offset on the wire is an offset in the file.
        let isKept = record.keepsBytes || record.isStream || end.failure == nil
        let furthest = record.hold.furthest
        let again = record.hold.take(from: progress.offset, received: progress.received, isKept: isKept)
        live.gained = record.hold.furthest - furthest
        record.tally.refetched += again
        if again > 0 { self.publish(.refetched(bytes: again), record) }
    }

    func giveSlotBack(_ record: TaskRecord) {
        let origin = record.hop.url.origin
        guard record.hasSlot else { return }
        record.hasSlot = false
        self.queue.leave(origin)
        self.admitWaiting()
    }

    private func admitWaiting() {
        guard !self.isAdmitting else { return }
        self.isAdmitting = true
        defer { self.isAdmitting = false }
        while let number = self.queue.next() {
            guard let record = self.records[number] else { continue }
            record.hasSlot = true
            self.feed(.release(.concurrency), to: record)
            // Suspended or held meanwhile: the slot is another one's.
            switch record.machine.phase {
            case .running, .paused, .seeking: break
            case .idle, .deciding, .finishing, .parked, .ended: self.giveSlotBack(record)
            }
        }
    }
}
