internal import Synchronization
internal import TidegateAttribution
internal import TidegateCore

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
