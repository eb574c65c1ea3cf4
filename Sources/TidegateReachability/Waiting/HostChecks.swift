package import TidegateCore

/// Checks hosts, names and URLs for conditions.
package struct HostChecks: Sendable {
    let diagnostics: PathDiagnostics
    /// The only family that counts; nil for both.
    let family: AddressFamily?
    /// The deadline of one check.
    let limit: Duration

    // A host may have any number of addresses; this many are tried in parallel.
    private static let mostAddresses = 8

    /// Whether an address of a host answers as `check` requires.
    package func host(_ target: Target, _ check: WaitCondition.HostCheck) async -> ConditionEvidence {
        let url = HTTPURL(scheme: check == .tls || target.port == 443 ? .https : .http, target: target)
        return await self.check(url, check.stage)
    }

    /// Whether a name has an address.
    func resolve(_ name: String) async -> ConditionEvidence {
        self.failure(await self.diagnosis.resolve(name)) ?? .passed
    }

    private var diagnosis: PathDiagnosis { PathDiagnosis(self.diagnostics, within: self.limit) }

    /// Why a name cannot be checked; nil if it can.
    private func failure(_ result: Result<[IPAddress], ResolveFailure>?) -> ConditionEvidence? {
        switch result {
        case nil: return .failed(.resolverTimeout)
        case .failure(let failure)?: return .failed(failure.reason)
        case .success(let addresses)?:
            guard let family = self.family, self.own(addresses).isEmpty else { return nil }
            return .failed(.nameNotFound, detail: "no \(VerdictDescriptions.short(family)) address")
        }
    }

    private func own(_ addresses: [IPAddress]) -> [IPAddress] {
        addresses.filter { self.family == nil || $0.family == self.family }
    }

    /// Whether one of the addresses of a URL's host answers; fails with the reason of the first.
    func check(_ url: HTTPURL, _ stage: Stage) async -> ConditionEvidence {
        let diagnosis = self.diagnosis
        let resolved = await diagnosis.resolve(url.target)
        if let failure = self.failure(resolved) { return failure }
        let addresses = Array(self.own((try? resolved?.get()) ?? []).prefix(HostChecks.mostAddresses))
        let limit = diagnosis.rest
        let results = await addresses.concurrentMap(until: { $0.contains(.passed) }) { address -> ConditionEvidence in
            let request = HTTPCheck.Request(url: url, address: address, lastStage: stage, limit: limit)
            return HostChecks.result(await self.diagnostics.web.check(request), stage)
        }
        return results.contains(.passed) ? .passed : results.first ?? .failed(.nameNotFound)
    }

    private static func result(_ answer: HTTPCheck.Result, _ stage: Stage) -> ConditionEvidence {
        guard let reason = WebRungs.failure(answer, stage) else { return .passed }
        return .failed(reason, detail: self.detail(reason, answer))
    }

    // An HTTP status or a certificate problem is more precise than the reason alone.
    private static func detail(_ reason: UnreachableReason, _ answer: HTTPCheck.Result) -> String? {
        if reason == .httpError, let status = answer.status { return "the server answered with status \(status)" }
        return reason == .tlsFailed && !answer.text.isEmpty ? answer.text : nil
    }
}
