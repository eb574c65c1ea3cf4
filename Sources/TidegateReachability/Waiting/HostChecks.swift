package import TidegateCore

/// Checks hosts, names and URLs for conditions.
package struct HostChecks: Sendable {
    let diagnostics: PathDiagnostics
    /// Only this family counts; nil for both.
    let family: AddressFamily?
    /// The deadline of one check.
    let limit: Duration

    // A host may have any number of addresses; this many are tried at once.
    private static let mostAddresses = 8

    /// Whether an address of a host answers as `check` wants.
    package func host(_ target: Target, _ check: WaitCondition.HostCheck) async -> HostCheckResult {
        let url = HTTPURL(scheme: check == .tls || target.port == 443 ? .https : .http, target: target)
        return await self.check(url, check.stage)
    }

    /// Whether a GET of a URL is answered with a status below 400 by an address of its host.
    func request(_ url: HTTPURL) async -> HostCheckResult { await self.check(url, .body) }

    /// Whether a name has an address.
    func resolve(_ name: String) async -> HostCheckResult {
        do throws(Failure) {
            _ = try self.addresses(await self.diagnosis.resolve(name))
            return .passed
        } catch {
            return error.result
        }
    }

    private var diagnosis: PathDiagnosis { PathDiagnosis(self.diagnostics, within: self.limit) }

    /// A check that did not pass.
    private struct Failure: Error {
        var reason: UnreachableReason
        var detail: String?

        var result: HostCheckResult { .failed(self.reason, detail: self.detail) }
    }

    private func addresses(_ result: Result<[IPAddress], ResolveFailure>?) throws(Failure) -> [IPAddress] {
        switch result {
        case nil: throw Failure(reason: .resolverTimeout)
        case .failure(let failure)?: throw Failure(reason: failure.reason)
        case .success(let addresses)?:
            guard let family = self.family else { return addresses }
            let own = addresses.filter { $0.family == family }
            guard own.isEmpty else { return own }
            throw Failure(reason: .nameNotFound, detail: "no \(VerdictDescriptions.short(family)) address")
        }
    }

    /// Whether one of the addresses answers; fails with the reason of the first.
    private func check(_ url: HTTPURL, _ stage: Stage) async -> HostCheckResult {
        let diagnosis = self.diagnosis
        let addresses: [IPAddress]
        do throws(Failure) {
            addresses = try self.addresses(await diagnosis.resolve(url.target))
        } catch {
            return error.result
        }
        let (web, limit) = (self.diagnostics.web, diagnosis.rest)
        return await withTaskGroup(of: (Int, Failure?).self) { group in
            for (position, address) in addresses.prefix(HostChecks.mostAddresses).enumerated() {
                let request = HTTPCheck.Request(url: url, address: address, lastStage: stage, limit: limit)
                group.addTask { (position, HostChecks.failure(await web.check(request), stage)) }
            }
            var first: (position: Int, failure: Failure)?
            for await (position, failure) in group {
                guard let failure else {
                    group.cancelAll()
                    return .passed
                }
                if position < first?.position ?? .max { first = (position, failure) }
            }
            return first?.failure.result ?? .failed(.nameNotFound)
        }
    }

    private static func failure(_ answer: HTTPCheck.Result, _ stage: Stage) -> Failure? {
        guard let reason = WebRungs.failure(answer, stage) else { return nil }
        return Failure(reason: reason, detail: self.detail(reason, answer))
    }

    // A status and what is wrong with a certificate say more than the reason alone.
    private static func detail(_ reason: UnreachableReason, _ answer: HTTPCheck.Result) -> String? {
        if reason == .httpError, let status = answer.status { return "the server answered with status \(status)" }
        return reason == .tlsFailed && !answer.text.isEmpty ? answer.text : nil
    }
}
