internal import TidegateCore
internal import TidegateTransfer

/// What is known about a failed attempt: for the retry, for people, for attribution.
extension SessionLoop {
    func evidence(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure
    ) -> RetryClassifier.Evidence {
        RetryClassifier.Evidence(
            kind: end.kind, failure: failure, status: end.outcome.head?.status, resolveFailure: end.resolveFailure,
            reachedWire: end.reachedWire, isIdempotent: record.request.isIdempotent,
            pathIsLost: self.pathIsLost(record, end.live))
    }

    func pathIsLost(_ record: TaskRecord, _ live: LiveAttempt) -> Bool {
        guard !record.gate.isOpen, let desk = record.desk else { return false }
        if let local = live.contact?.local, !self.surroundings.paths.holdsAddress(local) { return true }
        let fresh = self.surroundings.paths.current(desk.target).verdict
        for verdict in [desk.verdict(for: live.contact?.remote), fresh] {
            if verdict.level != .unknown, verdict.level < .routed { return true }
        }
        return false
    }

    func publishFailure(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, isCharged: Bool
    ) {
        let summary = end.summary(of: record.hop)
        let blame = self.attribute(end, record)
        self.publish(.attemptFailed(summary, failure, blame, isCharged: isCharged), record)
    }

    /// Judges whose failure the attempt's was, and remembers it for the result.
    func attribute(_ end: AttemptEnd, _ record: TaskRecord) -> Attribution? {
        guard let failure = end.failure else { return nil }
        let blame = Attribution.judge(self.failureEvidence(end, failure, record))
        record.tally.attribution = blame
        return blame
    }

    private func failureEvidence(_ end: AttemptEnd, _ failure: TaskFailure, _ record: TaskRecord) -> FailureEvidence {
        let (outcome, connect) = (end.outcome, end.outcome.failedConnect)
        // Behind a proxy the verdict is the proxy's, and so is the address.
        let after = record.desk?.verdict(for: outcome.peer) ?? .unknown
        var before = end.live.before
        before.path = self.pathBefore(end, after, record)
        return FailureEvidence(
            failure: failure, stage: end.stage, status: outcome.head?.status, socketError: outcome.socketError,
            refusal: outcome.refusal, peer: outcome.peer, local: outcome.contact?.local ?? connect?.local,
            isImmediate: connect?.isImmediate ?? false, unanswered: connect.map { $0.retransmits + 1 } ?? 0,
            resolveFailure: end.resolveFailure, words: failure == .tlsFailed ? end.text : "", before: before,
            after: after, peers: self.peers(of: record, end))
    }

    // Where the best way is still the same, another address's own way is no change of path.
    private func pathBefore(_ end: AttemptEnd, _ after: Verdict, _ record: TaskRecord) -> NetworkPath? {
        if end.live.contact != nil { return end.live.path }
        guard let best = record.desk?.verdict(for: nil).path, let first = end.live.before.path,
            best.isSamePath(as: first)
        else { return end.live.before.path }
        return after.path
    }

    func attribution(of failure: TaskFailure, _ record: TaskRecord) -> Attribution? {
        let verdict = record.desk?.verdict(for: nil) ?? .unknown
        return Attribution.judge(FailureEvidence(failure: failure, before: verdict, after: verdict))
    }

    /// The same end, read in another way.
    func reading(_ end: AttemptEnd, as failure: TaskFailure, _ words: String) -> AttemptEnd {
        var read = end
        read.failure = failure
        read.kind = FailureClass(of: failure)
        read.text = words
        return read
    }

    /// What went wrong in one sentence that names the resource.
    func sentence(_ end: AttemptEnd, _ record: TaskRecord) -> String {
        let url = record.hop.url.textWithoutQuery
        if end.kind == .local { return end.text.isEmpty ? "this host could not do its part" : end.text }
        if end.failure == .httpStatus, let status = end.outcome.head?.status,
            !end.text.hasPrefix("the server redirects")
        {
            return "\(url): the server answered \(status)"
        }
        return "\(url): \(end.text.isEmpty ? "the transfer failed" : end.text)"
    }

    func retryAfter(_ end: AttemptEnd) -> RetryAfter? {
        guard let head = end.outcome.head, let field = head.field("Retry-After"), end.failure == .httpStatus else {
            return nil
        }
        return RetryAfter.parse(field, date: head.field("Date"), now: self.surroundings.time.wall())
    }

    // Enough new bytes, in absolute terms or as a share of the whole, to say that it gets on.
    func madeProgress(_ record: TaskRecord, _ end: AttemptEnd) -> Bool {
        guard record.hold.resumePoint != nil else { return false }
        return end.live.gained >= max(65_536, (record.hold.total ?? 0) / 100)
    }

    func withBudget<Value>(of record: TaskRecord, _ use: (inout RetryBudget) -> Value) -> Value {
        let origin = record.hop.url.origin
        let now = self.now
        self.budgets.forget { $0.isFull(at: now) }
        return self.budgets.use(origin, orFirst: RetryBudget(self.configuration.budget, at: now), use)
    }
}
