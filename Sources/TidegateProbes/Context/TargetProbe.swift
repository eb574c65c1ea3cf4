internal import TidegateCore

/// A way to ask a target: what a prober does, with a module's options.
protocol TargetProbe: Sendable {
    /// Asks once; everything that is found, failures included, goes into `findings`.
    func run(_ target: String, _ findings: inout ProbeFindings) async
    /// What the rungs below are asked about when nothing that was seen says whose failure it was; nil for nothing.
    func subject(of target: String) async -> ProbeSubject?
}

/// What probes of every kind are made with.
struct ProbeContext: Sendable {
    let environment: ProbeEnvironment
    let policy: ProbeTargetPolicy
    let deadline: MonotonicTime

    /// What is left of the time.
    var remaining: Duration { max(.zero, self.deadline - self.environment.time.monotonic()) }

    /// The address of a host that is probed; nil if there is none, no path to it, or it must not be probed, which
    /// `findings` then say.
    func address(
        of host: String, preferring preference: FamilyPreference, from source: ProbeSource = ProbeSource(),
        _ findings: inout ProbeFindings
    ) async -> ProbeAddress? {
        // The routes say nothing of packets that may take one interface only.
        let finder = ProbeAddressFinder(
            environment: self.environment, preference: preference, asksRoutes: source.interface == nil)
        guard let address = await finder.address(of: host, until: self.deadline, &findings) else { return nil }
        guard let refusal = self.policy.refusal(of: host, at: address.address) else { return address }
        findings.fail(.targetDenied, .mine, refusal)
        return nil
    }

    /// What is known about a failure on the way to an address.
    func evidence(_ failure: TaskFailure, at address: ProbeAddress, stage: Stage? = nil) -> FailureEvidence {
        let found = self.environment.network.diagnosis(address.address.family)
        return FailureEvidence(
            failure: failure, stage: stage, peer: address.address, before: address.verdict, after: address.verdict,
            gateway: found?.gateway ?? .unknown, witnesses: found?.witnesses ?? [])
    }

    /// True if a host may be asked about from here: it resolves, and none of its addresses is denied.
    func allows(_ host: String) async -> Bool {
        guard case .success(let addresses) = await self.environment.addresses(of: host, within: .seconds(1)) else {
            return false
        }
        return addresses.allSatisfy { self.policy.refusal(of: host, at: $0) == nil }
    }
}
