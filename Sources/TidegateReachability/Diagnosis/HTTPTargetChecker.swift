internal import TidegateAttribution
package import TidegateCore
internal import TidegateLoop

/// Checks targets by TCP, TLS or HTTP, like the rungs of the ladder, on a new connection each time.
///
/// With diagnostics it also finds out why checks fail, like `explain` does.
package struct HTTPTargetChecker: TargetChecker {
    // More addresses of a name rarely help, and each one costs a connection.
    private static let mostAddresses = 4

    private let web: any HTTPChecker
    private let diagnostics: PathDiagnostics?

    /// Creates a checker that makes its connections with `web`.
    package init(web: any HTTPChecker, diagnostics: PathDiagnostics? = nil) {
        (self.web, self.diagnostics) = (web, diagnostics)
    }

    private enum Step: Sendable {
        case ended(TargetCheck.Outcome)
        case silent(Cause)
    }

    /// Checks the first address and, if it fails, the others: one answer is enough.
    ///
    /// If a target becomes silent, the checker diagnoses the way out before the timeout; if the way out is dead, the
    /// check does not wait for the target.
    package func check(_ request: TargetCheck.Request) async -> TargetCheck.Outcome {
        guard let diagnostics, !Task.isCancelled else { return await self.outcome(of: request) }
        let monitor = diagnostics.monitor
        let start = diagnostics.time.monotonic()
        // Not a task group, which would wait for a check that runs until its timeout.
        let first = Promise<Step>()
        // A server that accepts the connection is reachable, however long its answer takes.
        let isConnected = Promise<Bool>()
        let ended = Task { first.fulfil(.ended(await self.outcome(of: request) { isConnected.fulfil(true) })) }
        let silent = Task {
            guard request.isReached != false, !request.addresses.isEmpty else { return }
            let isSilent =
                await isConnected.value {
                    _ = monitor.call(after: Thresholds.certainty, $0)
                } == nil
            guard isSilent, !Task.isCancelled, !DescriptorShortage.isNow(for: .check) else { return }
            monitor.recorder.record(.silence(since: start))
            // Other checks may wait for this diagnosis, so the end of this check does not cancel it.
            let cause = Task { await monitor.outage(at: request.addresses.first, over: request.verdict.path) }
            // A dead IP version says nothing about the other one.
            let hasOne = Set(request.addresses.map(\.family)).count == 1
            if let cause = await cause.value, hasOne || monitor.diagnosis?.isBroken ?? false {
                first.fulfil(.silent(cause))
            }
        }
        switch await first.value() {
        case .silent(let cause)?:
            ended.cancel()
            return TargetCheck.Outcome(failure: self.found(cause, .timeout, of: request, diagnostics))
        case .ended(var outcome)?:
            silent.cancel()
            guard let failure = outcome.failure else { return outcome }
            outcome.failure = await self.explained(failure, of: request, by: diagnostics)
            return outcome
        // This check was cancelled.
        case nil:
            ended.cancel()
            silent.cancel()
            return TargetCheck.Outcome()
        }
    }

    /// The failure of a check with its cause and party; unchanged if the diagnosis finds nothing more.
    ///
    /// An answer needs no diagnosis: it names the problem itself.
    private func explained(
        _ failure: TargetCheck.Outcome.Failure, of request: TargetCheck.Request, by diagnostics: PathDiagnostics
    ) async -> TargetCheck.Outcome.Failure {
        var failure = failure
        guard failure.reason != .tlsFailed, failure.reason != .httpError, !failure.isOwn else { return failure }
        if let known = request.explained, known.reason == failure.reason, let moment = known.explainedAt,
            diagnostics.time.monotonic() - moment < Thresholds.findingAge
        {
            return known
        }
        // Targets that fail together usually have one cause, which a single diagnosis finds. During an outage of the way
        // out, the answer of a resolver or of a router says nothing about the target.
        let isOfOthers = failure.reason.rung == .dns || failure.reason == .hostUnreachable
        let isSilent = failure.reason == .timeout || failure.reason == .resolverTimeout
        var cause =
            isSilent || isOfOthers && diagnostics.monitor.diagnosis?.isBroken ?? false
            ? await diagnostics.monitor.outage(at: request.addresses.first, over: request.verdict.path)
            : nil
        if cause == nil {
            let limits = Thresholds.targetDiagnosis
            var target = request.check.location.map(ExplainTarget.init) ?? ExplainTarget(request.target)
            if let first = request.addresses.first { target.answered[first] = failure.answer }
            let explanation = await diagnostics.diagnose(
                target, within: min(max(request.check.timeout, limits.lowerBound), limits.upperBound),
                walksToInternet: diagnostics.mayWalk(about: request.target))
            cause = explanation.conclusion == .broken ? explanation.cause : nil
            // The resolvers answer the diagnosis: they were slow before, or packets were lost.
            if failure.reason == .resolverTimeout, explanation.conclusion != .notChecked { failure.party = .unknown }
            if case .unknown(let why)? = cause, !why.namesPlace { cause = nil }
        }
        return cause.map { self.found($0, failure.reason, of: request, diagnostics) } ?? failure
    }

    private func found(
        _ cause: Cause, _ reason: UnreachableReason, of request: TargetCheck.Request, _ diagnostics: PathDiagnostics
    ) -> TargetCheck.Outcome.Failure {
        TargetCheck.Outcome.Failure(
            reason: reason, party: cause.party, text: cause.description, advice: cause.advice(for: request.target),
            explainedAt: diagnostics.time.monotonic())
    }

    // Calls `onWire` when the first address has accepted the connection.
    private func outcome(
        of request: TargetCheck.Request, onWire: @escaping @Sendable () -> Void = {}
    ) async -> TargetCheck.Outcome {
        let addresses = request.addresses.prefix(HTTPTargetChecker.mostAddresses)
        guard let first = addresses.first else {
            let reason =
                request.verdict.isUsable
                ? (request.unresolved ?? .nameNotFound).reason : request.verdict.reason ?? .nameNotFound
            return TargetCheck.Outcome(failure: .init(reason: reason, party: reason.party, text: reason.description))
        }
        let start = self.diagnostics?.time.monotonic()
        var outcome = request.outcome(await self.web.check(request.question(first), onWire: onWire), at: first)
        // Every check ends at its limit while this process runs; after a stop it is made again.
        if outcome.failure != nil, let start, let end = self.diagnostics?.time.monotonic(), !Task.isCancelled,
            end - start > request.check.timeout + Thresholds.frozen
        {
            outcome = request.outcome(await self.web.check(request.question(first), onWire: onWire), at: first)
        }
        guard outcome.failure != nil, addresses.count > 1, !Task.isCancelled else { return outcome }
        let others = await addresses.dropFirst().map(\.self).concurrentMap(until: { $0.last?.failure == nil }) {
            request.outcome(await self.web.check(request.question($0)), at: $0)
        }
        return others.first { $0.failure == nil } ?? others.first { $0.failure?.isOwn ?? false } ?? outcome
    }
}

extension UnknownCause {
    /// True if it says where to look, unlike the failure itself.
    fileprivate var namesPlace: Bool {
        switch self {
        case .forwarder, .silentTunnel: true
        case .routerOrProvider, .hostOrPath, .oneCheck, .silence, .notEnoughTime: false
        }
    }
}

extension TargetCheck.Request {
    // The stage that a check must reach.
    private var lastStage: Stage {
        switch self.check.kind {
        case .none, .tcp: .connect
        case .tls: .tls
        case .http: .body
        }
    }

    private var url: HTTPURL {
        if let location = self.check.location { return location }
        let usesTLS = self.check.kind == .tls || self.target.port == 443
        return HTTPURL(scheme: usesTLS ? .https : .http, target: self.target)
    }

    fileprivate func question(_ address: IPAddress) -> HTTPCheck.Request {
        HTTPCheck.Request(url: self.url, address: address, lastStage: self.lastStage, limit: self.check.timeout)
    }

    fileprivate func outcome(_ answer: HTTPCheck.Result, at address: IPAddress) -> TargetCheck.Outcome {
        TargetCheck.Outcome(
            failure: self.failure(answer, at: address), phases: answer.phases,
            certificateExpiry: answer.certificate?.expiry)
    }

    private func failure(_ answer: HTTPCheck.Result, at address: IPAddress) -> TargetCheck.Outcome.Failure? {
        guard let reason = WebRungs.failure(answer, self.lastStage) else { return nil }
        var evidence = FailureEvidence(
            failure: answer.failure ?? .httpStatus, stage: self.failedStage(answer), peer: address,
            before: self.verdict, after: self.verdict)
        (evidence.status, evidence.socketError, evidence.refusal) = (answer.status, answer.socketError, answer.refusal)
        (evidence.local, evidence.text, evidence.peers) = (answer.local, answer.text, self.peers)
        (evidence.handshake, evidence.certificateError) = (answer.handshake, answer.certificateError)
        evidence.certificate = answer.certificate
        // The rung decides the meaning of an answer, as in a ladder.
        if reason == .tlsFailed || reason == .httpError { evidence.rung = reason.rung }
        let attribution = DecisionTable.attribution(of: evidence)
        let text = answer.text.isEmpty ? attribution?.evidence.first ?? reason.description : answer.text
        return .init(
            reason: reason, party: attribution?.party ?? reason.party, text: text,
            advice: attribution?.cause?.advice(for: self.target) ?? "", answer: answer)
    }

    // The stage in which the check failed.
    private func failedStage(_ answer: HTTPCheck.Result) -> Stage {
        switch answer.reached {
        case nil, .resolve: .connect
        case .connect: self.url.scheme == .https ? .tls : .response
        case .tls, .request, .response, .body: .response
        }
    }
}
