internal import TidegateCore
internal import TidegateTransfer

/// What follows from an attempt that is over: success, a redirect, a hook, another attempt, or the task's end.
enum AnswerRules {
    /// The machine has left an attempt behind that is still running.
    static func detach(_ record: TaskRecord, _ cause: TaskMachine.DetachCause, in session: inout SessionState) {
        guard record.live != nil else { return }
        session.origins.leaveProbe(record, &session.tasks)
        let (failure, text): (TaskFailure, String) =
            switch cause {
            case .suspended: (.cancelled, "the task was suspended")
            case .pathLost: (.stalled, "the path was lost")
            case .ended: (record.result.failure ?? .cancelled, record.result.sentence?.text ?? "the task ended")
            }
        let end = AttemptRules.abort(record, failure, text, in: &session)
        let isCharged = cause == .ended && failure != .cancelled
        if isCharged { record.retry.counter.charge(madeProgress: false) }
        session.failures.publishFailure(record, end, failure, isCharged: isCharged, &session.tasks)
        record.resetRedirects()
    }

    /// Decides about a task whose attempt has ended and been counted.
    static func attemptDidFinish(_ record: TaskRecord, _ end: AttemptEnd, in session: inout SessionState) {
        self.countForOrigin(end, record, in: &session)
        session.admission.attemptEnded(end, record, &session.tasks)
        let isForgotten = session.pool.isFromBeforeReset(end.live)
        record.download.revalidation?.isForgotten = isForgotten
        if !isForgotten { session.requests.keepCookies(of: end, record) }
        session.revalidator.invalidate(end, record, &session.tasks)
        guard let failure = end.failure else { return self.succeed(record, end, in: &session) }
        // The body of a refused request may say why; it never goes where the request says.
        if failure == .tlsFailed, session.asksAboutTrust(record, end) { return }
        record.download.body = failure == .httpStatus ? end.outcome.diagnosticBody : []
        if failure == .httpStatus, let status = end.status {
            if status == 417, record.attempt.awaitsContinue, session.requests.canSendBody(record) {
                // The server has refused the request unread, so that sending it once more is no repetition.
                record.attempt.awaitsContinue = false
                return self.leadAgain(record, end, .httpStatus, in: &session)
            }
            if session.answersChallenge(record, end, status: status) { return }
            if RedirectRule.isRedirect(status), let location = end.outcome.head?.field("Location"),
                record.request.options.maxRedirects > 0
            {
                return self.redirect(record, end, status: status, location: location, in: &session)
            }
        }
        if failure == .rangeMismatch, !record.isStream, !record.download.partial.wasRestarted {
            return self.restart(record, end, .rangeMismatch, in: &session)
        }
        self.fail(record, end, failure, in: &session)
    }

    private static func countForOrigin(_ end: AttemptEnd, _ record: TaskRecord, in session: inout SessionState) {
        let failures = session.failures
        session.origins.attemptEnded(end, record, &session.tasks) {
            failures.pathIsLost(record, end.live) || failures.isSilencedByOutage(end, record)
        }
    }

    private static func succeed(_ record: TaskRecord, _ end: AttemptEnd, in session: inout SessionState) {
        if end.status == 304 { return self.notModified(record, end, in: &session) }
        if record.paths != nil, !end.outcome.isLengthVerified {
            let message = "the server closed the connection without saying how long the body is; it may be incomplete"
            return self.giveUp(record, end.with(.truncated, message), .truncated, in: &session)
        }
        if let message = session.bodies.wrongDigest(record) {
            let wrong = end.with(.digestMismatch, message)
            if session.bodies.mayFetchAgain(record) {
                return self.restart(record, wrong, .digestMismatch, in: &session)
            }
            return self.giveUp(record, wrong, .digestMismatch, in: &session)
        }
        self.noteSuccess(record, end, in: &session)
        record.download.body = end.outcome.body
        record.result.delivered = end.delivered(with: record.download.partial)
        let isStored = session.revalidator.willStore(record, end)
        let needsCommit = record.download.file != nil || record.needsDigestOfMemory || isStored
        session.tasks.feed(.attemptCompletes(needsCommit: needsCommit), to: record)
    }

    private static func noteSuccess(_ record: TaskRecord, _ end: AttemptEnd, in session: inout SessionState) {
        session.tasks.publish(.attemptSucceeded(end.summary(of: record)), record)
        record.retry.counter.succeeded()
        session.origins.controller.succeeded(record.origin, refunding: record.retry.counter.paid, at: session.tasks.now)
    }

    // The body is the stored one, and takes the place of what a commit would bring.
    private static func notModified(_ record: TaskRecord, _ end: AttemptEnd, in session: inout SessionState) {
        guard session.revalidator.confirms(record, by: end, &session.tasks) else {
            let wrong = end.with(.httpStatus, "the server answered 304 about another version than the stored one")
            return self.leadAgain(record, wrong, .httpStatus, in: &session)
        }
        self.noteSuccess(record, end, in: &session)
        session.tasks.feed(.attemptCompletes(needsCommit: true), to: record)
    }

    // MARK: - Again from another place, or from the start

    private static func redirect(
        _ record: TaskRecord, _ end: AttemptEnd, status: Int, location: String, in session: inout SessionState
    ) {
        do {
            let remote = record.attempt.proxy == nil ? end.outcome.connection?.remote : nil
            let hop = try RedirectRule.follow(
                status, to: location, from: record.hop, answeredBy: remote, policy: record.policies.redirects)
            guard record.attempt.redirects < record.request.options.maxRedirects else {
                let message = "the server redirects more than \(record.request.options.maxRedirects) times"
                return self.giveUp(record, end.with(.httpStatus, message), .httpStatus, in: &session)
            }
            if session.askAboutRedirect(record, end, to: hop) { return }
            session.tasks.publish(.attemptSucceeded(end.summary(of: record)), record)
            record.attempt.redirects += 1
            record.attempt.hop = hop
            record.attempt.followsRedirect = true
            session.tasks.feed(.attemptLeads, to: record)
        } catch {
            self.giveUp(record, end.with(error.failure, error.sentence), error.failure, in: &session)
        }
    }

    private static func restart(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState
    ) {
        session.failures.publishFailure(record, end, failure, isCharged: false, &session.tasks)
        session.tasks.publish(.restarted(discarded: record.download.partial.restart()), record)
        record.resetRedirects()
        session.tasks.feed(.attemptLeads, to: record)
    }

    private static func leadAgain(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState
    ) {
        session.failures.publishFailure(record, end, failure, isCharged: false, &session.tasks)
        session.tasks.feed(.attemptLeads, to: record)
    }

    // MARK: - Failures

    private static func fail(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState
    ) {
        if end.lackedDescriptor, record.waitsForResources {
            // Neither the server nor the network has anything to do with it.
            let own = end.with(.internal, HoldReason.descriptors.description)
            session.failures.publishFailure(record, own, .internal, isCharged: false, &session.tasks)
            return session.bodies.waitForDescriptors(record, &session.tasks)
        }
        let decision = RetryClassifier.classify(
            session.failures.retryEvidence(record, end, failure), statuses: record.policies.retry.statuses)
        switch decision {
        case .free, .retry:
            if record.cannotContinue { return self.failTruncated(record, end, in: &session) }
            if !session.requests.canSendBody(record) { return self.giveUp(record, end, failure, in: &session) }
        case .final, .forbidden: break
        }
        if failure == .diskFull, record.waitsForResources {
            session.failures.publishFailure(record, end, failure, isCharged: false, &session.tasks)
            return session.bodies.waitForDisk(record, end.text, &session.tasks)
        }
        switch decision {
        case .free:
            self.retryFree(record, end, failure, after: self.delayBeforeFreeRetry(record, in: session), in: &session)
        case .final(let failure): self.giveUp(record, end, failure, in: &session)
        case .forbidden(let failure):
            record.retry.counter.charge(madeProgress: false)
            session.failures.publishFailure(record, end, failure, isCharged: true, &session.tasks)
            session.tasks.publish(.retriesExhausted(.notIdempotent), record)
            EndRules.close(record, failure, session.failures.sentence(end, record), in: &session)
        case .retry(let price, let atMost):
            if end.kind == .link, record.retry.linkFailures == 0 {
                // The kernel may know before its messages are read.
                record.retry.linkFailures += 1
                return self.retryFree(record, end, failure, after: .milliseconds(250), in: &session)
            }
            self.retry(record, end, (price, atMost), in: &session)
        }
    }

    // The kernel may report a loss before the watch does. Without this delay the task would retry in a tight loop.
    private static func delayBeforeFreeRetry(_ record: TaskRecord, in session: borrowing SessionState) -> Duration? {
        guard let target = record.target, case .open = session.gates.evaluate(record.policies.gate, at: target) else {
            return nil
        }
        return .milliseconds(100)
    }

    /// Ends a task whose body can neither be continued nor be delivered from its start once more.
    static func failTruncated(_ record: TaskRecord, _ end: AttemptEnd, in session: inout SessionState) {
        let offset = record.download.partial.offset
        let message = "\(end.text) after \(offset) bytes had been delivered, and the body cannot be continued"
        self.giveUp(record, end.with(.truncated, message), .truncated, in: &session)
    }

    private static func retryFree(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, after delay: Duration?,
        in session: inout SessionState
    ) {
        session.failures.publishFailure(record, end, failure, isCharged: false, &session.tasks)
        record.resetRedirects()
        session.pool.markStale()
        guard let delay else { return session.tasks.feed(.attemptLeads, to: record) }
        session.tasks.schedule(.backoff, of: record, after: delay)
        session.tasks.feed(.attemptBacksOff, to: record)
    }

    private static func retry(
        _ record: TaskRecord, _ end: AttemptEnd, _ cost: (price: RetryPrice, atMost: Int?),
        in session: inout SessionState
    ) {
        guard let failure = end.failure else { return }
        record.retry.counter.charge(madeProgress: end.madeProgress(with: record.download.partial))
        session.failures.publishFailure(record, end, failure, isCharged: true, &session.tasks)
        let (now, asked) = (session.tasks.now, end.retryAfter(now: session.requests.wallTime))
        let limits = RetryCounter.Limits(
            policy: record.policies.retry, atMost: cost.atMost, price: asked == nil ? cost.price : .connect,
            asked: asked, active: record.clocks.activeTime(at: now),
            untilDeadline: record.request.options.deadline.map { $0 - record.clocks.lifetime(at: now) })
        switch session.origins.controller.next(&record.retry.counter, limits, of: record.origin, at: now) {
        case .stop(.budget) where record.waitsForResources:
            session.journal.noteAttempt(record, &session.tasks)
            session.origins.waitForBudget(record, price: limits.price, &session.tasks)
        case .stop(let reason): self.exhaust(record, end, failure, reason, in: &session)
        case .wait(let delay): self.backOff(record, end, delay, isAsked: asked != nil, in: &session)
        }
    }

    private static func backOff(
        _ record: TaskRecord, _ end: AttemptEnd, _ delay: Duration, isAsked: Bool, in session: inout SessionState
    ) {
        let now = session.tasks.now
        let reason: TaskEvent.RetryReason =
            if end.failure == .httpStatus, let status = end.status {
                .status(status)
            } else {
                .failure(end.failure ?? .internal)
            }
        session.tasks.publish(.retryScheduled(reason, delay: delay), record)
        if isAsked { session.origins.controller.pause(record.origin, until: now + delay, at: now) }
        record.resetRedirects()
        record.clocks.schedule(.backoff, at: now + delay)
        session.journal.noteAttempt(record, &session.tasks)
        session.tasks.feed(.attemptBacksOff, to: record)
    }

    private static func exhaust(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, _ reason: TaskEvent.ExhaustionReason,
        in session: inout SessionState
    ) {
        session.tasks.publish(.retriesExhausted(reason), record)
        var sentence = session.failures.sentence(end, record)
        let charged = record.retry.counter.charged
        // A task that was tried only once has failed, not run out of attempts.
        guard charged > 1 || reason != .limit else { return EndRules.close(record, failure, sentence, in: &session) }
        switch reason {
        case .limit: sentence.attempts = charged
        case .budget: sentence.clause += ", and the origin's retry budget is used up"
        case .deadline: sentence.clause += ", and another try would come too late"
        case .notIdempotent: sentence.clause += ", and may not be tried again"
        }
        EndRules.close(record, .retriesExhausted, sentence, in: &session)
    }

    // MARK: - Tasks

    /// Ends a task with an attempt's failure.
    private static func giveUp(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState
    ) {
        record.retry.counter.charge(madeProgress: false)
        session.failures.publishFailure(record, end, failure, isCharged: true, &session.tasks)
        EndRules.close(record, failure, session.failures.sentence(end, record), in: &session)
    }
}
