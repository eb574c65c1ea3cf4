internal import TidegateCore
internal import TidegateNetwork

/// A way to ask a target: what a prober does, with a module's options.
protocol TargetProbe: Sendable {
    /// Asks once; everything that is found, failures included, goes into `findings`.
    func run(_ target: String, _ findings: inout ProbeFindings) async
    /// What the rungs below are asked about when nothing that was seen says whose failure it was: the `address` that
    /// was probed, because the name may lead elsewhere by now, and the port that a redirect led to; nil for nothing.
    func subject(of target: String, at address: IPAddress, redirectedTo port: UInt16?) -> ProbeSubject?
    /// Where its packets leave this host.
    var source: ProbeSource { get }
}

extension TargetProbe {
    /// The kernel's choice.
    var source: ProbeSource { ProbeSource() }
}

/// What probes of every kind are made with.
struct ProbeContext: Sendable {
    let environment: ProbeEnvironment
    let policy: ProbeTargetPolicy
    let credentials: CredentialPolicy
    let deadline: MonotonicTime
    /// The memory that the bodies of all probes take together.
    let bodies: ProbeBudget
    /// The turns of decoding a document, one at a time: it takes many times its body.
    let documents: ProbeBudget

    /// What is left of the time.
    var remaining: Duration { max(.zero, self.deadline - self.environment.time.monotonic()) }

    /// The address of a host that is probed; nil if there is none, no path to it, or it must not be probed, which
    /// `findings` then say.
    func address(
        of target: Target, preferring preference: FamilyPreference, from source: ProbeSource = ProbeSource(),
        isProxied: Bool = false, _ findings: inout ProbeFindings
    ) async -> ProbeAddress? {
        // A proxy's address may be of either family.
        let preference = isProxied ? preference : source.narrowing(preference)
        guard let (candidates, time) = await self.candidates(for: target.host, preference, &findings),
            let address = await self.choose(candidates, from: isProxied ? nil : source, time, &findings)
        else { return nil }
        findings.address = address.address
        let refusal =
            self.policy.refusal(of: target.host, at: address.address)
            ?? self.credentials.refusal(of: target, at: address.address, address.verdict)
        guard let refusal else { return address }
        findings.fail(.targetDenied, .mine, refusal)
        return nil
    }

    /// How packets from `source` go to an address.
    ///
    /// The routes say nothing of packets that may take one interface only; without a carrier it has none, either.
    func route(to address: IPAddress, from source: ProbeSource) async -> AddressRoute {
        guard let name = source.interface else { return await self.environment.network.route(address) }
        guard let fault = NetworkInterface.fault(of: name) else { return AddressRoute(verdict: .unknown) }
        return AddressRoute(verdict: Verdict(level: .none, reason: fault), link: name)
    }

    /// What is known about a failure on the way from `source` to an address.
    func evidence(
        _ failure: TaskFailure, at address: ProbeAddress, from source: ProbeSource, stage: Stage? = nil
    ) -> FailureEvidence {
        // Of another way out a diagnosis says nothing.
        let found = source.isBound ? nil : self.environment.network.diagnosis(address.address.family)
        return FailureEvidence(
            failure: failure, stage: stage, peer: address.address, before: address.verdict, after: address.verdict
        ).adding(found)
    }
}

extension ProbeSubject {
    /// A port of an address, as far as TCP: what is above was seen already.
    static func address(_ address: IPAddress, port: UInt16?) -> ProbeSubject {
        // A diagnosis would look for the name in the certificate of that port.
        .target(Target(address: address, port: port == 443 ? nil : port))
    }
}

extension ProbeSource {
    /// Records what kept a connection from leaving; false if that has nothing to do with the source.
    func explains(_ error: SocketError?, at address: IPAddress, _ findings: inout ProbeFindings) -> Bool {
        switch error {
        case .addressNotAvailable:
            guard let source = self.address else { return false }
            findings.fail(.connectFailed, .mine, "this host does not have the source address \(source)")
        case .networkUnreachable, .hostUnreachable:
            // A router may say the same.
            guard let name = self.interface, !NetworkInterface.routes(to: address, by: name) else { return false }
            findings.gate(.noRoute, "no path to \(address) by \(name): no route")
        default: return false
        }
        return true
    }
}
