internal import TidegateCore
internal import TidegateTransfer

/// What follows from an attempt that is over.
extension SessionLoop {
    /// Decides about a task whose attempt has ended and been counted.
    func conclude(_ record: TaskRecord, _ end: AttemptEnd) {
        self.judgeOrigin(by: end, record)
        if let desk = record.desk, desk.canary == record.number { self.canaryEnded(end, at: desk) }
        guard let failure = end.failure else { return self.succeed(record, end) }
        if failure == .httpStatus, let status = end.outcome.head?.status,
            self.answersChallenge(record, end, status: status)
        {
            return
        }
        if let status = end.outcome.head?.status, failure == .httpStatus, RedirectRule.isRedirect(status),
            let location = end.outcome.head?.field("Location"), record.request.maxRedirects > 0
        {
            return self.redirect(record, end, status: status, location: location)
        }
        if failure == .rangeMismatch, !record.isStream, !record.hold.wasRestarted {
            return self.restart(record, end, .rangeMismatch)
        }
        self.failed(record, end, failure)
    }

    private func succeed(_ record: TaskRecord, _ end: AttemptEnd) {
        if record.paths != nil, !end.outcome.isLengthVerified {
            let words = "the server closed the connection and never said how long the body is: nothing proves it whole"
            return self.giveUp(record, self.reading(end, as: .truncated, words), .truncated, isCharged: true)
        }
        if let wrong = self.wrongDigest(record) {
            let read = self.reading(end, as: .digestMismatch, wrong)
            if self.mayStartAnew(record) { return self.restart(record, read, .digestMismatch) }
            return self.giveUp(record, read, .digestMismatch, isCharged: true)
        }
        self.publish(.attemptSucceeded(end.summary(of: record.hop)), record)
        record.counter.succeeded()
        // An origin without a budget has a full one.
        if !self.budgets.isEmpty || self.configuration.tellsRetryTokens {
            self.withBudget(of: record) { $0.succeeded(refunding: record.counter.paid, at: self.now) }
        }
        record.body = end.outcome.body
        record.tally.delivered = self.delivered(record, end)
        self.feed(.attemptCompletes(needsCommit: record.file != nil || self.sumsUpBody(record)), to: record)
    }

    private func delivered(_ record: TaskRecord, _ end: AttemptEnd) -> Int64 {
        let progress = end.outcome.progress
        if end.outcome.head?.range == .alreadyComplete { return max(0, record.hold.offset - record.hold.start) }
        return max(0, progress.offset + progress.received - record.hold.start)
    }

    // MARK: - Again from another place, or from the start

    private func redirect(
        _ record: TaskRecord, _ end: AttemptEnd, status: Int, location: String
    ) {
        do {
            let hop = try RedirectRule.follow(status, to: location, from: record.hop)
            guard record.redirects < record.request.maxRedirects else {
                let words = "the server redirects more than \(record.request.maxRedirects) times"
                return self.giveUp(record, self.reading(end, as: .httpStatus, words), .httpStatus, isCharged: true)
            }
            if self.asksAboutRedirect(record, end, to: hop) { return }
            self.publish(.attemptSucceeded(end.summary(of: record.hop)), record)
            record.redirects += 1
            record.hop = hop
            self.feed(.attemptLeads, to: record)
        } catch {
            let read = self.reading(end, as: .protocolError, error.description)
            self.giveUp(record, read, .protocolError, isCharged: true)
        }
    }

    private func restart(_ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure) {
        self.publishFailure(record, end, failure, isCharged: false)
        self.publish(.restarted(discarded: record.hold.restart()), record)
        self.backToTheStart(record)
        self.feed(.attemptLeads, to: record)
    }

    // MARK: - Failures

    private func failed(_ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure) {
        let answer = RetryClassifier.judge(self.evidence(record, end, failure), statuses: record.retry.statuses)
        switch answer {
        case .free, .retry:
            if self.cannotGoOn(record) { return self.breakOff(record, end) }
            if !self.canSendBody(record) { return self.giveUp(record, end, failure, isCharged: true) }
        case .final, .forbidden: break
        }
        if failure == .diskFull, self.waitsOut(record) {
            self.publishFailure(record, end, failure, isCharged: false)
            return self.waitForDisk(record, end.text)
        }
        switch answer {
        case .free: self.tryForFree(record, end, failure, after: self.pauseBeforeFreeTry(record))
        case .final(let failure): self.giveUp(record, end, failure, isCharged: true)
        case .forbidden(let failure):
            record.counter.charge(madeProgress: false)
            self.publishFailure(record, end, failure, isCharged: true)
            self.publish(.retriesExhausted(.notIdempotent), record)
            self.close(record, failure, self.sentence(end, record))
        case .retry(let price, let atMost):
            if end.kind == .link, record.linkFailures == 0 {
                // The kernel may know before its messages are read.
                record.linkFailures += 1
                return self.tryForFree(record, end, failure, after: .milliseconds(250))
            }
            self.retry(record, end, failure, price: price, atMost: atMost)
        }
    }

    // The kernel may know of a loss before the watch tells: a gate still open would send the task round and round.
    private func pauseBeforeFreeTry(_ record: TaskRecord) -> Duration? {
        guard let desk = record.desk, case .open = self.judge(record, desk) else { return nil }
        return .milliseconds(100)
    }

    private func cannotGoOn(_ record: TaskRecord) -> Bool {
        record.isStream && record.hold.offset > 0 && record.hold.resumePoint == nil
    }

    /// Gives up a body that can neither be continued nor be delivered from its start once more.
    func breakOff(_ record: TaskRecord, _ end: AttemptEnd) {
        let words = "\(end.text) after \(record.hold.offset) bytes had been delivered, and the body cannot be continued"
        self.giveUp(record, self.reading(end, as: .truncated, words), .truncated, isCharged: true)
    }

    private func tryForFree(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, after delay: Duration? = nil
    ) {
        self.publishFailure(record, end, failure, isCharged: false)
        self.backToTheStart(record)
        self.epochIsStale = true
        guard let delay else { return self.feed(.attemptLeads, to: record) }
        record.clocks.appoint(.backoff, at: self.now + delay)
        self.feed(.attemptBacksOff, to: record)
    }

    private func retry(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, price: RetryPrice,
        atMost: Int?
    ) {
        record.counter.charge(madeProgress: self.madeProgress(record, end))
        self.publishFailure(record, end, failure, isCharged: true)
        let asked = self.retryAfter(end)
        let room = RetryCounter.Room(
            policy: record.retry, atMost: atMost, price: asked == nil ? price : .connect, asked: asked,
            active: record.clocks.activeTime(at: self.now),
            untilDeadline: record.request.deadline.map { $0 - record.clocks.lifetime(at: self.now) })
        let now = self.now
        var counter = record.counter
        let answer = self.withBudget(of: record) { budget in
            self.surroundings.dice.roll { counter.next(room, budget: &budget, at: now, using: &$0) }
        }
        record.counter = counter
        switch answer {
        case .stop(.budget) where self.waitsOut(record): self.waitForBudget(record, price: room.price)
        case .stop(let reason): self.exhaust(record, end, failure, reason)
        case .wait(let delay): self.backOff(record, end, failure, delay, isAsked: asked != nil)
        }
    }

    private func backOff(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, _ delay: Duration, isAsked: Bool
    ) {
        let reason: TaskEvent.RetryReason =
            if failure == .httpStatus, let status = end.outcome.head?.status { .status(status) } else {
                .failure(failure)
            }
        self.publish(.retryScheduled(reason, delay: delay), record)
        if isAsked {
            let now = self.now
            self.restingUntil.forget { $0 <= now }
            self.restingUntil[record.hop.url.origin] = now + delay
        }
        self.backToTheStart(record)
        record.clocks.appoint(.backoff, at: self.now + delay)
        self.noteTry(record)
        self.feed(.attemptBacksOff, to: record)
    }

    private func exhaust(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, _ reason: TaskEvent.ExhaustionReason
    ) {
        self.publish(.retriesExhausted(reason), record)
        let sentence = self.sentence(end, record)
        // Who was tried once only has failed, not run out of tries.
        guard record.counter.charged > 1 || reason != .limit else { return self.close(record, failure, sentence) }
        let why =
            switch reason {
            case .limit: "after \(record.counter.charged) attempts"
            case .budget: "and the origin's retry budget is used up"
            case .deadline: "and another try would come too late"
            case .notIdempotent: "and may not be tried again"
            }
        self.close(record, .retriesExhausted, "\(sentence), \(why)")
    }

    private func giveUp(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, isCharged: Bool
    ) {
        record.counter.charge(madeProgress: false)
        self.publishFailure(record, end, failure, isCharged: isCharged)
        self.close(record, failure, self.sentence(end, record))
    }

    private func close(_ record: TaskRecord, _ failure: TaskFailure, _ sentence: String) {
        record.tally.failure = failure
        record.tally.explanation = sentence
        self.feed(.fail, to: record)
    }

    /// Fails a task for a reason that is no attempt's.
    func fail(_ record: TaskRecord, _ failure: TaskFailure, _ sentence: String) {
        guard !record.machine.isOver, record.machine.phase != .finishing else { return }
        if failure != .gateTimeout { self.leaveGate(record, .cancelled) }
        if record.tally.attribution == nil {
            record.tally.attribution = self.attribution(of: failure, record)
        }
        self.close(record, failure, sentence)
    }
}
