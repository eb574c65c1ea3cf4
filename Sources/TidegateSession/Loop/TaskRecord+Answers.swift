internal import TidegateCore
internal import TidegateTransfer

// The consequences of an ended attempt: success, a redirect, a hook, another attempt, or the task's end.
extension TaskRecord {
    /// Ends a running attempt that the machine has abandoned.
    func detach(_ cause: TaskMachine.DetachCause, in session: inout SessionState) {
        guard self.live != nil else { return }
        session.origins.leaveProbe(self, &session.tasks)
        let (failure, text): (TaskFailure, String) =
            switch cause {
            case .suspended: (.cancelled, "the task was suspended")
            case .pathLost: (.stalled, "the path was lost")
            case .ended: (self.result.failure ?? .cancelled, self.result.sentence?.text ?? "the task ended")
            }
        let end = AttemptRules.abort(self, failure, text, in: &session)
        let isCharged = cause == .ended && failure != .cancelled
        if isCharged { self.retry.counter.charge(madeProgress: false) }
        session.failures.publishFailure(self, end, failure, isCharged: isCharged, &session.tasks)
        self.resetRedirects()
    }

    /// Decides about a task whose attempt has ended and been counted.
    func attemptDidFinish(_ end: AttemptEnd, in session: inout SessionState) {
        self.countForOrigin(end, in: &session)
        session.admission.attemptEnded(end, self, &session.tasks)
        let isForgotten = session.pool.isFromBeforeReset(end.live)
        self.download.revalidation?.isForgotten = isForgotten
        if !isForgotten { session.requests.keepCookies(of: end, self) }
        session.revalidator.invalidate(end, self, &session.tasks)
        guard let failure = end.failure else { return self.succeed(end, in: &session) }
        // The body of a refused request may explain the refusal; it never goes to the request's destination.
        if failure == .tlsFailed, session.asksAboutTrust(self, end) { return }
        self.download.body = failure == .httpStatus ? end.outcome.diagnosticBody : []
        if self.sendsDifferently(end, failure, in: &session) { return }
        if failure == .httpStatus, let status = end.status {
            if status == 417, self.attempt.awaitsContinue, session.requests.canSendBody(self) {
                // The server refused the request unread, so sending it again is not a repetition.
                self.attempt.awaitsContinue = false
                return self.leadAgain(end, .httpStatus, in: &session)
            }
            if session.answersChallenge(self, end, status: status) { return }
            if RedirectRule.isRedirect(status), let location = end.outcome.head?.field("Location"),
                self.request.options.maxRedirects > 0
            {
                return self.redirect(end, status: status, location: location, in: &session)
            }
        }
        if failure == .rangeMismatch, let file = self.download.whole {
            // The file is a part, or another body.
            self.download.whole = nil
            session.tasks.publish(.attemptSucceeded(end.summary(of: self)), self)
            session.tasks.publish(.restarted(discarded: file.size), self)
            self.resetRedirects()
            return session.tasks.feed(.attemptLeads, to: self)
        }
        if failure == .rangeMismatch, !self.isStream, !self.download.partial.wasRestarted {
            return self.restart(end, .rangeMismatch, in: &session)
        }
        self.fail(end, failure, in: &session)
    }

    // Sends a request again in the way that the server requires, once; false if the server requires none. The server
    // has not processed the request, so its method does not matter (RFC 9110 15.5.20).
    private func sendsDifferently(_ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState) -> Bool {
        guard session.requests.canSendBody(self), !self.cannotContinue else { return false }
        let mayRepeat = self.request.isIdempotent || !end.mayBeProcessed
        if end.outcome.requiresHTTP1, self.attempt.allowsHTTP2, mayRepeat {
            self.attempt.allowsHTTP2 = false
        } else if failure == .httpStatus, end.status == 421, !self.attempt.needsFreshConnection {
            self.attempt.needsFreshConnection = true
        } else {
            return false
        }
        self.leadAgain(end, failure, in: &session)
        return true
    }

    private func countForOrigin(_ end: AttemptEnd, in session: inout SessionState) {
        let failures = session.failures
        session.origins.attemptEnded(end, self, &session.tasks) {
            failures.pathIsLost(self, end.live) || failures.isSilencedByOutage(end, self)
        }
    }

    private func succeed(_ end: AttemptEnd, in session: inout SessionState) {
        if end.status == 304 { return self.notModified(end, in: &session) }
        if let whole = self.download.whole, let file = self.paths?.destination, (try? FileIdentity.of(file)) != whole {
            self.download.whole = nil
            let wrong = end.with(.rangeMismatch, "\(file.path) has changed since the download began")
            return self.restart(wrong, .rangeMismatch, in: &session)
        }
        if self.paths != nil, !end.outcome.isLengthVerified {
            let message = "the server closed the connection without saying how long the body is; it may be incomplete"
            return self.giveUp(end.with(.truncated, message), .truncated, in: &session)
        }
        if let message = session.bodies.wrongDigest(self) {
            let wrong = end.with(.digestMismatch, message)
            if session.bodies.mayFetchAgain(self) { return self.restart(wrong, .digestMismatch, in: &session) }
            return self.giveUp(wrong, .digestMismatch, in: &session)
        }
        self.noteSuccess(end, in: &session)
        self.download.body = end.outcome.body
        self.result.delivered = end.delivered(with: self.download.partial)
        if end.outcome.head?.range == .alreadyComplete { self.noteComplete() }
        let isStored = session.revalidator.willStore(self, end)
        let needsCommit = self.download.file != nil || self.needsDigestOfMemory || isStored || self.needsProof
        session.tasks.feed(.attemptCompletes(needsCommit: needsCommit), to: self)
    }

    // The length that the response announces is that of its own body.
    private func noteComplete() {
        let size = self.download.whole?.size ?? self.download.partial.offset
        self.download.finalProgress = TransferProgress(offset: size, expected: size, attempt: self.machine.attempts)
        if self.download.whole != nil { self.result.movedTo = self.destination.path }
    }

    private func noteSuccess(_ end: AttemptEnd, in session: inout SessionState) {
        session.tasks.publish(.attemptSucceeded(end.summary(of: self)), self)
        self.retry.counter.succeeded()
        session.origins.succeeded(self.origin, refunding: self.retry.counter.paid, at: session.tasks.now)
    }

    // Takes the stored body, which replaces the result of a commit.
    private func notModified(_ end: AttemptEnd, in session: inout SessionState) {
        guard session.revalidator.confirms(self, by: end, &session.tasks) else {
            let wrong = end.with(.httpStatus, "the server answered 304 about another version than the stored one")
            return self.leadAgain(wrong, .httpStatus, in: &session)
        }
        self.noteSuccess(end, in: &session)
        session.tasks.feed(.attemptCompletes(needsCommit: true), to: self)
    }

    // MARK: - Redirects and restarts

    private func redirect(_ end: AttemptEnd, status: Int, location: String, in session: inout SessionState) {
        do {
            let remote = self.attempt.proxy == nil ? end.outcome.connection?.remote : nil
            let hop = try self.policies.redirects.follow(
                status, to: location, from: self.hop, answeredBy: remote)
            guard self.attempt.redirects < self.request.options.maxRedirects else {
                let message = "the server redirects more than \(self.request.options.maxRedirects) times"
                return self.giveUp(end.with(.httpStatus, message), .httpStatus, in: &session)
            }
            if session.askAboutRedirect(self, end, to: hop) { return }
            session.tasks.publish(.attemptSucceeded(end.summary(of: self)), self)
            self.attempt.redirects += 1
            self.attempt.hop = hop
            self.attempt.followsRedirect = true
            self.attempt.needsFreshConnection = false
            session.tasks.feed(.attemptLeads, to: self)
        } catch {
            self.giveUp(end.with(error.failure, error.sentence), error.failure, in: &session)
        }
    }

    private func restart(_ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState) {
        session.failures.publishFailure(self, end, failure, isCharged: false, &session.tasks)
        session.tasks.publish(.restarted(discarded: self.download.partial.restart()), self)
        // A server that does not continue one body would not continue the next one either.
        if failure == .rangeMismatch { self.download.partial.isVerified = false }
        self.resetRedirects()
        session.tasks.feed(.attemptLeads, to: self)
    }

    private func leadAgain(_ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState) {
        session.failures.publishFailure(self, end, failure, isCharged: false, &session.tasks)
        session.tasks.feed(.attemptLeads, to: self)
    }

    // MARK: - Failures

    private func fail(_ end: AttemptEnd, _ failure: TaskFailure, in session: inout SessionState) {
        if end.lackedDescriptor, self.waitsForResources {
            // The failure involves neither the server nor the network.
            let own = end.with(.internal, HoldReason.descriptors.description)
            session.failures.publishFailure(self, own, .internal, isCharged: false, &session.tasks)
            return session.bodies.waitForDescriptors(self, &session.tasks)
        }
        let decision = RetryClassifier.classify(
            session.failures.retryEvidence(self, end, failure), statuses: self.policies.retry.statuses)
        switch decision {
        case .free, .retry:
            if self.cannotContinue { return self.failTruncated(end, in: &session) }
            if !session.requests.canSendBody(self) {
                return self.giveUp(
                    end, failure, adding: ", and the body, which is read once, cannot be sent again", in: &session)
            }
        case .final, .forbidden: break
        }
        if failure == .diskFull, self.waitsForResources {
            session.failures.publishFailure(self, end, failure, isCharged: false, &session.tasks)
            return session.bodies.waitForDisk(self, end.text, &session.tasks)
        }
        switch decision {
        case .free: self.retryFree(end, failure, after: self.delayBeforeFreeRetry(in: session), in: &session)
        case .final(let failure): self.giveUp(end, failure, in: &session)
        case .forbidden(let failure):
            self.retry.counter.charge(madeProgress: false)
            session.failures.publishFailure(self, end, failure, isCharged: true, &session.tasks)
            session.tasks.publish(.retriesExhausted(.notIdempotent), self)
            EndRules.close(self, failure, session.failures.sentence(end, self), in: &session)
        case .retry(let price, let atMost):
            if end.kind == .link, self.retry.linkFailures == 0 {
                // The kernel may know of a change before its messages are read.
                self.retry.linkFailures += 1
                return self.retryFree(end, failure, after: .milliseconds(250), in: &session)
            }
            self.tryAgain(end, (price, atMost), in: &session)
        }
    }

    // The kernel may report a loss before the watch does. Without this delay the task would retry in a tight loop.
    private func delayBeforeFreeRetry(in session: borrowing SessionState) -> Duration? {
        guard let target = self.target, case .open = session.gates.evaluate(self.policies.gate, at: target) else {
            return nil
        }
        return .milliseconds(100)
    }

    /// Ends a task whose body can neither be continued nor be delivered from its start again.
    func failTruncated(_ end: AttemptEnd, in session: inout SessionState) {
        let offset = self.download.partial.offset
        let message = "\(end.text) after \(offset) bytes had been delivered, and the body cannot be continued"
        self.giveUp(end.with(.truncated, message), .truncated, in: &session)
    }

    private func retryFree(
        _ end: AttemptEnd, _ failure: TaskFailure, after delay: Duration?, in session: inout SessionState
    ) {
        session.failures.publishFailure(self, end, failure, isCharged: false, &session.tasks)
        self.resetRedirects()
        session.pool.markStale()
        guard let delay else { return session.tasks.feed(.attemptLeads, to: self) }
        session.tasks.schedule(.backoff, of: self, after: delay)
        session.tasks.feed(.attemptHolds(.backoff, detail: nil), to: self)
    }

    private func tryAgain(
        _ end: AttemptEnd, _ cost: (price: RetryPrice, atMost: Int?),
        in session: inout SessionState
    ) {
        guard let failure = end.failure else { return }
        self.retry.counter.charge(madeProgress: end.madeProgress(with: self.download.partial))
        session.failures.publishFailure(self, end, failure, isCharged: true, &session.tasks)
        let (now, asked) = (session.tasks.now, end.retryAfter(now: session.requests.wallTime))
        let limits = RetryCounter.Limits(
            policy: self.policies.retry, atMost: cost.atMost, price: asked == nil ? cost.price : .connect,
            asked: asked, active: self.clocks.activeTime(at: now),
            untilDeadline: self.request.options.deadline.map { $0 - self.clocks.lifetime(at: now) })
        switch session.origins.next(&self.retry.counter, limits, of: self.origin, at: now) {
        case .stop(.budget) where self.waitsForResources:
            session.journal.noteAttempt(self, &session.tasks)
            session.origins.waitForBudget(self, price: limits.price, &session.tasks)
        case .stop(let reason): self.exhaust(end, failure, reason, in: &session)
        case .wait(let delay): self.backOff(end, delay, isAsked: asked != nil, in: &session)
        }
    }

    private func backOff(_ end: AttemptEnd, _ delay: Duration, isAsked: Bool, in session: inout SessionState) {
        let now = session.tasks.now
        let reason: TaskEvent.RetryReason =
            if end.failure == .httpStatus, let status = end.status {
                .status(status)
            } else {
                .failure(end.failure ?? .internal)
            }
        session.tasks.publish(.retryScheduled(reason, delay: delay), self)
        let origin = self.origin
        if isAsked { session.origins.pause(origin, until: now + delay, at: now) }
        self.resetRedirects()
        self.clocks.schedule(.backoff, at: now + delay)
        // A pause of a later hop's server holds in this process only.
        self.journal?.pausedUntil = isAsked && origin == self.origin ? now + delay : nil
        session.journal.noteAttempt(self, &session.tasks)
        session.tasks.feed(.attemptHolds(.backoff, detail: nil), to: self)
    }

    private func exhaust(
        _ end: AttemptEnd, _ failure: TaskFailure, _ reason: TaskEvent.ExhaustionReason, in session: inout SessionState
    ) {
        session.tasks.publish(.retriesExhausted(reason), self)
        var sentence = session.failures.sentence(end, self)
        let charged = self.retry.counter.charged
        // A task limited to a single attempt has simply failed; it has not run out of attempts.
        guard charged > 1 || reason != .limit else { return EndRules.close(self, failure, sentence, in: &session) }
        switch reason {
        case .limit where self.retry.counter.hasUsedFreeAttempts:
            sentence.clause += ", and more than \(RetryCounter.mostFree) attempts each brought only a part of the body"
        case .limit: sentence.attempts = charged
        case .budget: sentence.clause += ", and the origin's retry budget is used up"
        case .deadline: sentence.clause += ", and a retry would come too late"
        case .notIdempotent: sentence.clause += ", and may not be retried"
        }
        EndRules.close(self, .retriesExhausted, sentence, in: &session)
    }

    // MARK: - Ends

    /// Ends a task with an attempt's failure.
    private func giveUp(
        _ end: AttemptEnd, _ failure: TaskFailure, adding reason: String = "", in session: inout SessionState
    ) {
        self.retry.counter.charge(madeProgress: false)
        session.failures.publishFailure(self, end, failure, isCharged: true, &session.tasks)
        var sentence = session.failures.sentence(end, self)
        sentence.clause += reason
        EndRules.close(self, failure, sentence, in: &session)
    }
}
