internal import Synchronization
internal import TidegateAttribution
package import TidegateCore

/// Checks targets by TCP, TLS or HTTP, as the rungs of the ladder do, on a new connection each time.
package struct HTTPTargetChecker: TargetChecker {
    // More addresses of one name are hardly ever of use, and each one is a connection.
    private static let mostAddresses = 4

    private let web: any HTTPChecker
    private let diagnostics: TargetDiagnostics?

    /// A checker whose connections `web` makes; `diagnostics` finds the cause of failures.
    package init(web: any HTTPChecker, diagnostics: TargetDiagnostics? = nil) {
        self.web = web
        self.diagnostics = diagnostics
    }

    /// Checks the first address, and if it fails, the others at once: one that answers is enough.
    package func check(_ request: TargetCheck.Request) async -> TargetCheck.Outcome {
        var outcome = await self.outcome(of: request)
        guard let diagnostics = self.diagnostics, !Task.isCancelled else { return outcome }
        if let failure = outcome.failure {
            outcome.failure = await diagnostics.explained(failure, of: request)
        } else {
            diagnostics.forget(request.target)
        }
        return outcome
    }

    private func outcome(of request: TargetCheck.Request) async -> TargetCheck.Outcome {
        let addresses = request.addresses.prefix(HTTPTargetChecker.mostAddresses)
        guard let first = addresses.first else { return request.unresolvedOutcome }
        let outcome = request.outcome(await self.web.check(request.question(first)), at: first)
        guard outcome.failure != nil, addresses.count > 1, !Task.isCancelled else { return outcome }
        return await withTaskGroup(of: TargetCheck.Outcome.self) { group in
            for address in addresses.dropFirst() {
                group.addTask {
                    request.outcome(await self.web.check(request.question(address)), at: address)
                }
            }
            for await other in group where other.failure == nil {
                group.cancelAll()
                return other
            }
            return outcome
        }
    }
}

extension TargetCheck.Request {
    // The stage that a check has to reach.
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

    fileprivate var unresolvedOutcome: TargetCheck.Outcome {
        let reason = (self.unresolved ?? .nameNotFound).reason
        return TargetCheck.Outcome(failure: .init(reason: reason, party: reason.party, text: reason.description))
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
        let attribution = DecisionTable.attribution(of: evidence)
        let text = answer.text.isEmpty ? attribution?.evidence.first ?? reason.description : answer.text
        return .init(reason: reason, party: attribution?.party ?? reason.party, text: text)
    }

    // What the check was doing when it failed.
    private func failedStage(_ answer: HTTPCheck.Result) -> Stage {
        switch answer.reached {
        case nil, .resolve: .connect
        case .connect: self.url.scheme == .https ? .tls : .response
        case .tls, .request, .response, .body: .response
        }
    }
}

/// Finds out why checks of targets fail, as `explain` does.
package final class TargetDiagnostics: Sendable {
    private struct Finding {
        var failure: TargetCheck.Outcome.Failure
        var moment: MonotonicTime
    }

    private struct State {
        // What it diagnoses by has the targets' checks, and so this.
        weak var diagnostics: PathDiagnostics?
        weak var host: HostDiagnostics?
        var findings: [Target: Finding] = [:]
    }

    private let walksToInternet: Bool
    private let state = Mutex(State())

    /// It finds nothing before ``start(_:)``.
    ///
    /// - Parameter walksToInternet: Whether packets with limited hops are sent towards a public address, too.
    package init(walksToInternet: Bool) { self.walksToInternet = walksToInternet }

    /// Diagnoses by `diagnostics` and `host` from now on, which it does not keep alive.
    package func start(_ diagnostics: PathDiagnostics, _ host: HostDiagnostics) {
        self.state.withLock { ($0.diagnostics, $0.host) = (diagnostics, host) }
    }

    /// The failure of a check with its cause, and whose it is; as it was if nothing more is found out.
    ///
    /// An answer needs no diagnosis: it says itself what is wrong.
    func explained(
        _ failure: TargetCheck.Outcome.Failure, of request: TargetCheck.Request
    ) async -> TargetCheck.Outcome.Failure {
        guard failure.reason != .tlsFailed, failure.reason != .httpError,
            let diagnostics = self.state.withLock({ $0.diagnostics })
        else { return failure }
        let now = diagnostics.time.monotonic()
        if let finding = self.state.withLock({ $0.findings[request.target] }), finding.failure.reason == failure.reason,
            now - finding.moment < Thresholds.findingAge
        {
            return finding.failure
        }
        // Many targets that fail at once have one cause, which one diagnosis finds.
        if failure.reason.isSilence, let cause = await self.state.withLock({ $0.host })?.outage(of: request) {
            return self.found(cause, failure, request, diagnostics)
        }
        let (least, most) = (Thresholds.targetDiagnosis.lowerBound, Thresholds.targetDiagnosis.upperBound)
        let limit = min(max(request.check.timeout, least), most)
        let subject = request.check.location.map(ExplainTarget.init) ?? ExplainTarget(request.target)
        let explanation = await diagnostics.diagnose(
            subject, within: limit, walksToInternet: self.walksToInternet)
        guard explanation.conclusion == .broken, let cause = explanation.cause, cause.party != .unknown else {
            self.state.withLock { $0.findings[request.target] = nil }
            return failure
        }
        return self.found(cause, failure, request, diagnostics)
    }

    /// Forgets what was found about a target, because it was reached.
    func forget(_ target: Target) { self.state.withLock { $0.findings[target] = nil } }

    private func found(
        _ cause: Cause, _ failure: TargetCheck.Outcome.Failure, _ request: TargetCheck.Request,
        _ diagnostics: PathDiagnostics
    ) -> TargetCheck.Outcome.Failure {
        let found = TargetCheck.Outcome.Failure(
            reason: failure.reason, party: cause.party, text: cause.description)
        let finding = Finding(failure: found, moment: diagnostics.time.monotonic())
        self.state.withLock { $0.findings[request.target] = finding }
        return found
    }
}

extension UnreachableReason {
    // Nobody has said anything.
    fileprivate var isSilence: Bool { self == .timeout || self == .resolverTimeout }
}
