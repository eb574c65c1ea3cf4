internal import TidegateCore
internal import TidegateTransfer

// What follows from an attempt that is over: success, a redirect, a hook, another attempt, or the task's end.
extension SessionState {
    /// The machine has left an attempt behind that is still running.
    mutating func detach(_ record: TaskRecord, _ cause: TaskMachine.DetachCause) {
        guard record.live != nil else { return }
        self.origins.leaveProbe(record, &self.tasks)
        let (failure, text): (TaskFailure, String) =
            switch cause {
            case .suspended: (.cancelled, "the task was suspended")
            case .pathLost: (.stalled, "the path was lost")
            case .ended: (record.result.failure ?? .cancelled, record.result.sentence?.text ?? "the task ended")
            }
        let end = self.abort(record, failure, text)
        let isCharged = cause == .ended && failure != .cancelled
        if isCharged { record.retry.counter.charge(madeProgress: false) }
        self.failures.publishFailure(record, end, failure, isCharged: isCharged, &self.tasks)
        record.resetRedirects()
    }

    /// Decides about a task whose attempt has ended and been counted.
    mutating func attemptDidFinish(_ record: TaskRecord, _ end: AttemptEnd) {
        self.judgeOrigin(end, record)
        self.admission.attemptEnded(end, record, &self.tasks)
        let isForgotten = self.pool.isFromBeforeReset(end.live)
        record.download.revalidation?.isForgotten = isForgotten
        if !isForgotten { self.requests.keepCookies(of: end, record) }
        self.revalidator.invalidate(end, record, &self.tasks)
        guard let failure = end.failure else { return self.succeed(record, end) }
        // The body of a refused request may say why; it never goes where the request says.
        if failure == .tlsFailed, self.asksAboutTrust(record, end) { return }
        record.download.body = failure == .httpStatus ? end.outcome.diagnosticBody : []
        if failure == .httpStatus, let status = end.status {
            if status == 417, record.attempt.awaitsContinue, self.requests.canSendBody(record) {
                return self.sendWithoutExpect(record, end)
            }
            if self.answersChallenge(record, end, status: status) { return }
            if RedirectRule.isRedirect(status), let location = end.outcome.head?.field("Location"),
                record.request.maxRedirects > 0
            {
                return self.redirect(record, end, status: status, location: location)
            }
        }
        if failure == .rangeMismatch, !record.isStream, !record.download.partial.wasRestarted {
            return self.restart(record, end, .rangeMismatch)
        }
        self.fail(record, end, failure)
    }

    private mutating func judgeOrigin(_ end: AttemptEnd, _ record: TaskRecord) {
        let failures = self.failures
        self.origins.attemptEnded(end, record, &self.tasks) {
            failures.pathIsLost(record, end.live) || failures.isSilencedByOutage(end, record)
        }
    }

    private mutating func succeed(_ record: TaskRecord, _ end: AttemptEnd) {
        if end.status == 304 { return self.notModified(record, end) }
        if record.paths != nil, !end.outcome.isLengthVerified {
            let message = "the server closed the connection without saying how long the body is; it may be incomplete"
            return self.giveUp(record, end.with(.truncated, message), .truncated)
        }
        if let message = self.bodies.wrongDigest(record) {
            let wrong = end.with(.digestMismatch, message)
            if self.bodies.mayFetchAgain(record) { return self.restart(record, wrong, .digestMismatch) }
            return self.giveUp(record, wrong, .digestMismatch)
        }
        self.noteSuccess(record, end)
        record.download.body = end.outcome.body
        record.result.delivered = end.delivered(with: record.download.partial)
        let isStored = self.revalidator.willStore(record, end)
        let needsCommit = record.download.file != nil || record.needsDigestOfMemory || isStored
        self.tasks.feed(.attemptCompletes(needsCommit: needsCommit), to: record)
    }

    private mutating func noteSuccess(_ record: TaskRecord, _ end: AttemptEnd) {
        self.tasks.publish(.attemptSucceeded(end.summary(of: record.attempt)), record)
        record.retry.counter.succeeded()
        self.origins.controller.succeeded(
            record.origin, refunding: record.retry.counter.paid, at: self.tasks.now)
    }

    // The body is the stored one, and takes the place of what a commit would bring.
    private mutating func notModified(_ record: TaskRecord, _ end: AttemptEnd) {
        guard self.revalidator.confirms(record, by: end, &self.tasks) else {
            let wrong = end.with(.httpStatus, "the server answered 304 about another version than the stored one")
            return self.leadAgain(record, wrong, .httpStatus)
        }
        self.noteSuccess(record, end)
        self.tasks.feed(.attemptCompletes(needsCommit: true), to: record)
    }

    // MARK: - Again from another place, or from the start

    private mutating func redirect(_ record: TaskRecord, _ end: AttemptEnd, status: Int, location: String) {
        do {
            let remote = record.attempt.proxy == nil ? end.outcome.connection?.remote : nil
            let hop = try RedirectRule.follow(
                status, to: location, from: record.hop, answeredBy: remote, policy: record.redirectPolicy)
            guard record.attempt.redirects < record.request.maxRedirects else {
                let message = "the server redirects more than \(record.request.maxRedirects) times"
                return self.giveUp(record, end.with(.httpStatus, message), .httpStatus)
            }
            if self.askAboutRedirect(record, end, to: hop) { return }
            self.tasks.publish(.attemptSucceeded(end.summary(of: record.attempt)), record)
            record.attempt.redirects += 1
            record.attempt.hop = hop
            record.attempt.followsRedirect = true
            self.tasks.feed(.attemptLeads, to: record)
        } catch {
            self.giveUp(record, end.with(error.failure, error.sentence), error.failure)
        }
    }

    private mutating func restart(_ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure) {
        self.failures.publishFailure(record, end, failure, isCharged: false, &self.tasks)
        self.tasks.publish(.restarted(discarded: record.download.partial.restart()), record)
        record.resetRedirects()
        self.tasks.feed(.attemptLeads, to: record)
    }

    // The server has refused the request unread, so that sending it once more is no repetition.
    private mutating func sendWithoutExpect(_ record: TaskRecord, _ end: AttemptEnd) {
        record.attempt.awaitsContinue = false
        self.leadAgain(record, end, .httpStatus)
    }

    private mutating func leadAgain(_ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure) {
        self.failures.publishFailure(record, end, failure, isCharged: false, &self.tasks)
        self.tasks.feed(.attemptLeads, to: record)
    }

    // MARK: - Failures

    private mutating func fail(_ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure) {
        if end.lackedDescriptor, record.waitsForResources {
            // Neither the server nor the network has anything to do with it.
            let own = end.with(.internal, HoldReason.descriptors.description)
            self.failures.publishFailure(record, own, .internal, isCharged: false, &self.tasks)
            return self.bodies.waitForDescriptors(record, &self.tasks)
        }
        let decision = RetryClassifier.classify(
            self.failures.retryEvidence(record, end, failure), statuses: record.retryPolicy.statuses)
        switch decision {
        case .free, .retry:
            if record.cannotContinue { return self.failTruncated(record, end) }
            if !self.requests.canSendBody(record) { return self.giveUp(record, end, failure) }
        case .final, .forbidden: break
        }
        if failure == .diskFull, record.waitsForResources {
            self.failures.publishFailure(record, end, failure, isCharged: false, &self.tasks)
            return self.bodies.waitForDisk(record, end.text, &self.tasks)
        }
        switch decision {
        case .free: self.retryFree(record, end, failure, after: self.delayBeforeFreeRetry(record))
        case .final(let failure): self.giveUp(record, end, failure)
        case .forbidden(let failure):
            record.retry.counter.charge(madeProgress: false)
            self.failures.publishFailure(record, end, failure, isCharged: true, &self.tasks)
            self.tasks.publish(.retriesExhausted(.notIdempotent), record)
            self.close(record, failure, self.failures.sentence(end, record))
        case .retry(let price, let atMost):
            if end.kind == .link, record.retry.linkFailures == 0 {
                // The kernel may know before its messages are read.
                record.retry.linkFailures += 1
                return self.retryFree(record, end, failure, after: .milliseconds(250))
            }
            self.retry(record, end, failure, price: price, atMost: atMost)
        }
    }

    // The kernel may report a loss before the watch does. Without this delay the task would retry in a tight loop.
    private func delayBeforeFreeRetry(_ record: TaskRecord) -> Duration? {
        guard let target = record.target, case .open = self.gates.evaluate(record.gatePolicy, at: target) else {
            return nil
        }
        return .milliseconds(100)
    }

    /// Ends a task whose body can neither be continued nor be delivered from its start once more.
    mutating func failTruncated(_ record: TaskRecord, _ end: AttemptEnd) {
        let offset = record.download.partial.offset
        let message = "\(end.text) after \(offset) bytes had been delivered, and the body cannot be continued"
        self.giveUp(record, end.with(.truncated, message), .truncated)
    }

    private mutating func retryFree(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, after delay: Duration?
    ) {
        self.failures.publishFailure(record, end, failure, isCharged: false, &self.tasks)
        record.resetRedirects()
        self.pool.markStale()
        guard let delay else { return self.tasks.feed(.attemptLeads, to: record) }
        self.tasks.schedule(.backoff, of: record, after: delay)
        self.tasks.feed(.attemptBacksOff, to: record)
    }

    private mutating func retry(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, price: RetryPrice, atMost: Int?
    ) {
        record.retry.counter.charge(madeProgress: end.madeProgress(with: record.download.partial))
        self.failures.publishFailure(record, end, failure, isCharged: true, &self.tasks)
        let (now, asked) = (self.tasks.now, end.retryAfter(now: self.requests.wallTime))
        let limits = RetryCounter.Limits(
            policy: record.retryPolicy, atMost: atMost, price: asked == nil ? price : .connect, asked: asked,
            active: record.clocks.activeTime(at: now),
            untilDeadline: record.request.deadline.map { $0 - record.clocks.lifetime(at: now) })
        switch self.origins.controller.next(&record.retry.counter, limits, of: record.origin, at: now) {
        case .stop(.budget) where record.waitsForResources:
            self.waitForBudget(record, price: limits.price)
        case .stop(let reason): self.exhaust(record, end, failure, reason)
        case .wait(let delay): self.backOff(record, end, failure, delay, isAsked: asked != nil)
        }
    }

    private mutating func backOff(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, _ delay: Duration, isAsked: Bool
    ) {
        let now = self.tasks.now
        let reason: TaskEvent.RetryReason =
            if failure == .httpStatus, let status = end.status { .status(status) } else { .failure(failure) }
        self.tasks.publish(.retryScheduled(reason, delay: delay), record)
        if isAsked { self.origins.controller.pause(record.origin, until: now + delay, at: now) }
        record.resetRedirects()
        record.clocks.schedule(.backoff, at: now + delay)
        self.journal.noteAttempt(record, &self.tasks)
        self.tasks.feed(.attemptBacksOff, to: record)
    }

    private mutating func waitForBudget(_ record: TaskRecord, price: RetryPrice) {
        self.journal.noteAttempt(record, &self.tasks)
        self.origins.waitForBudget(record, price: price, &self.tasks)
    }

    private mutating func exhaust(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, _ reason: TaskEvent.ExhaustionReason
    ) {
        self.tasks.publish(.retriesExhausted(reason), record)
        var sentence = self.failures.sentence(end, record)
        let charged = record.retry.counter.charged
        // A task that was tried only once has failed, not run out of attempts.
        guard charged > 1 || reason != .limit else { return self.close(record, failure, sentence) }
        switch reason {
        case .limit: sentence.attempts = charged
        case .budget: sentence.clause += ", and the origin's retry budget is used up"
        case .deadline: sentence.clause += ", and another try would come too late"
        case .notIdempotent: sentence.clause += ", and may not be tried again"
        }
        self.close(record, .retriesExhausted, sentence)
    }

    // MARK: - Tasks

    /// Ends a task with an attempt's failure.
    private mutating func giveUp(_ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure) {
        record.retry.counter.charge(madeProgress: false)
        self.failures.publishFailure(record, end, failure, isCharged: true, &self.tasks)
        self.close(record, failure, self.failures.sentence(end, record))
    }

    /// Fails a task for a reason that is no attempt's.
    mutating func fail(_ record: TaskRecord, _ failure: TaskFailure, _ sentence: FailureSentence) {
        guard !record.machine.isOver, record.machine.phase != .finishing else { return }
        if failure != .gateTimeout { self.leaveGate(record, .cancelled) }
        if record.result.attribution == nil { self.failures.attribute(failure, record) }
        self.close(record, failure, sentence)
    }

    // The task's last attempt was published.
    private mutating func close(_ record: TaskRecord, _ failure: TaskFailure, _ sentence: FailureSentence) {
        record.result.failure = failure
        record.result.sentence = sentence
        self.tasks.feed(.fail, to: record)
    }
}
