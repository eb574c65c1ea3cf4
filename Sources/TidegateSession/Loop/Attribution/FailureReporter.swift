internal import TidegateAttribution
internal import TidegateCore
internal import TidegateTransfer

/// Publishes failures with the responsible party.
struct FailureReporter {
    let gate: PathGate
    /// Returns the findings of the latest diagnosis of the host for an address family.
    let diagnosis: @Sendable (AddressFamily) -> SilenceEvidence?
    var attributor = FaultAttributor()

    // MARK: - Attempts

    /// Records whether an attempt reached its server; any answer shows that the path works.
    mutating func notePeer(_ end: AttemptEnd, _ record: TaskRecord, at now: MonotonicTime) {
        guard let target = record.target, let path = end.live.path.current else { return }
        let isReached = end.outcome.head != nil
        guard isReached || end.missedPeer else { return }
        self.attributor.note(target.number, on: path, isReached: isReached, at: now)
    }

    func publishFailure(
        _ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure, isCharged: Bool, _ tasks: inout SessionTasks
    ) {
        let attribution = self.attribute(end, record, at: tasks.now)
        if failure != .cancelled, record.uploadStream?.isUntouched == false {
            record.ownDelegate.uploadFailure = (failure, attribution, self.sentence(end, record))
        }
        tasks.publish(.attemptFailed(end.summary(of: record), failure, attribution, isCharged: isCharged), record)
    }

    private func attribute(_ end: AttemptEnd, _ record: TaskRecord, at now: MonotonicTime) -> Attribution? {
        guard let failure = end.failure else { return nil }
        let found = self.diagnosis(self.family(end, record))
        var attribution = self.attributor.attribute(
            self.evidence(end, failure, record, found), target: record.target?.number, on: end.live.path.current,
            at: now, diagnosed: found?.moment)
        attribution?.doubt?.target = record.target?.target
        record.result.attribution = attribution
        return attribution
    }

    private func family(_ end: AttemptEnd, _ record: TaskRecord) -> AddressFamily {
        end.outcome.peer?.family ?? record.target?.verdict(for: nil).path?.source?.family ?? .ipv4
    }

    private func evidence(
        _ end: AttemptEnd, _ failure: TaskFailure, _ record: TaskRecord, _ found: SilenceEvidence?
    ) -> FailureEvidence {
        // Behind a proxy, both the verdict and the address are the proxy's.
        let after = record.target?.verdict(for: end.outcome.peer) ?? .unknown
        var before = end.live.path.before
        before.path = FaultAttributor.pathBefore(
            connected: end.live.contact == nil ? nil : end.live.path.current ?? after.path, first: before.path,
            best: record.target?.verdict(for: nil).path, after: after.path)
        var evidence = FailureEvidence(failure, end.outcome, before: before, after: after)
        (evidence.stage, evidence.resolveFailure) = (end.stage, end.resolveFailure)
        evidence.text = failure == .tlsFailed ? end.text : ""
        evidence.proxy = record.attempt.proxy.map { "\($0)" }
        // A portal answers in the place of servers that do not prove who they are.
        if record.hop.url.scheme == .http || failure == .tlsFailed { evidence.internet = found?.portal }
        return evidence.adding(found)
    }

    /// The facts about a failed attempt that decide about a retry.
    func retryEvidence(_ record: TaskRecord, _ end: AttemptEnd, _ failure: TaskFailure) -> RetryClassifier.Evidence {
        RetryClassifier.Evidence(
            kind: end.kind, failure: failure, status: end.status, resolveFailure: end.resolveFailure,
            reachedWire: end.mayBeProcessed, isIdempotent: record.request.isIdempotent,
            pathIsLost: self.pathIsLost(record, end.live))
    }

    func pathIsLost(_ record: TaskRecord, _ live: LiveAttempt) -> Bool {
        guard !record.policies.gate.isOpen, let target = record.target else { return false }
        if let local = live.contact?.local, !self.gate.paths.holdsAddress(local) { return true }
        // The watch may not have delivered the newest verdict yet.
        let newest = self.gate.paths.current(target.target).verdict
        return [target.verdict(for: live.contact?.remote), newest].contains {
            $0.level != .unknown && $0.level < .routed
        }
    }

    /// True if an attempt ended in silence while nothing beyond this host or its gateway answers: that shows nothing
    /// about the server.
    func isSilencedByOutage(_ end: AttemptEnd, _ record: TaskRecord) -> Bool {
        guard [.connectFailed, .timedOut, .stalled].contains(end.failure),
            [nil, .timedOut].contains(end.outcome.socketError),
            record.attempt.proxy != nil
                || record.target?.verdict(for: end.outcome.peer).isOnLink(end.outcome.peer) != true,
            let found = self.diagnosis(self.family(end, record))
        else { return false }
        return DecisionTable.cause(of: found).party.isWayOut
    }

    /// The error in one sentence that names the resource.
    func sentence(_ end: AttemptEnd, _ record: TaskRecord) -> FailureSentence {
        if end.kind == .local {
            return FailureSentence(end.text.isEmpty ? "the failure is on this host" : end.text)
        }
        let url = record.hop.url.textWithoutQuery
        if end.failure == .httpStatus, let status = end.status, !end.text.hasPrefix("the server redirects") {
            if status == 407, let proxy = record.attempt.proxy {
                return FailureSentence("the proxy \(proxy) requires other credentials (407)", of: url)
            }
            return FailureSentence("the server answered \(status)", of: url)
        }
        let clause = end.text.isEmpty ? "the transfer failed" : end.text
        guard let proxy = record.attempt.proxy, !clause.contains("the proxy") else {
            return FailureSentence(clause, of: url)
        }
        return FailureSentence("\(clause) (through the proxy \(proxy))", of: url)
    }

    /// Attributes a failure outside attempts.
    func attribute(_ failure: TaskFailure, _ record: TaskRecord) {
        record.result.attribution = self.attributor.attribute(
            failure, verdict: record.target?.verdict(for: nil) ?? .unknown)
    }
}

/// Attributes failures to this host, the gateway, the resolver, the path or the server.
///
/// It remembers which hosts were recently reachable on which path, because their results are evidence.
struct FaultAttributor {
    private var history = PeerHistory()

    /// Records whether a target was reachable on a path; any answer shows that the path works.
    mutating func note(_ target: UInt64, on path: NetworkPath, isReached: Bool, at now: MonotonicTime) {
        self.history.record(target, on: path.identity, isReached: isReached, at: now)
    }

    /// Attributes a failed attempt on `target`; the results of other hosts on its path complete the evidence.
    ///
    /// Results from before the diagnosis at `diagnosed` are older than its findings and are ignored.
    func attribute(
        _ evidence: FailureEvidence, target: UInt64?, on path: NetworkPath?, at now: MonotonicTime,
        diagnosed: MonotonicTime? = nil
    ) -> Attribution? {
        var evidence = evidence
        if let target, let path {
            evidence.peers = self.history.peers(
                of: target, on: path.identity, at: now, since: diagnosed, silentSince: evidence.silentSince)
        }
        return DecisionTable.attribution(of: evidence)
    }

    /// Attributes a failure outside attempts by the verdict alone.
    func attribute(_ failure: TaskFailure, verdict: Verdict) -> Attribution? {
        DecisionTable.attribution(of: FailureEvidence(failure: failure, before: verdict, after: verdict))
    }

    /// The path before the failure, to compare with the one after it.
    ///
    /// If the best path is unchanged, a different path of another address does not count as a change.
    static func pathBefore(connected: NetworkPath?, first: NetworkPath?, best: NetworkPath?, after: NetworkPath?)
        -> NetworkPath?
    {
        if let connected { return connected }
        guard let best, let first, best.isSamePath(as: first) else { return first }
        return after
    }
}
