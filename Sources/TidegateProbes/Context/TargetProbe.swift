internal import TidegateCore
internal import TidegateNetwork

/// A way to ask a target: what a prober does, with a module's options.
protocol TargetProbe: Sendable {
    /// Asks once; everything that is found goes into `findings`.
    ///
    /// - Throws: Why it ended before its end, unless the findings say it already.
    func run(_ target: String, _ findings: inout ProbeFindings) async throws(ProbeProblem)
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

    /// The address of a host that is probed; the time of its lookup is the phase `resolve` of a metric.
    ///
    /// Without a `source` the packets go to a proxy, whose address may be of either family.
    /// - Throws: Without an address, without a path to it, or if it must not be probed.
    func address(
        of target: Target, preferring preference: FamilyPreference, from source: ProbeSource? = ProbeSource(),
        timing metric: ProbeMetric?, _ findings: inout ProbeFindings
    ) async throws(ProbeProblem) -> ProbeAddress {
        let preference = source?.narrowing(preference) ?? preference
        let (candidates, time) = try await self.candidates(for: target.host, preference, timing: metric, &findings)
        let address = try await self.choose(candidates, from: source, time, &findings)
        findings.address = address.address
        let refusal =
            self.policy.refusal(of: target.host, at: address.address)
            ?? self.credentials.refusal(of: target, at: address.address, address.verdict)
        guard let refusal else { return address }
        throw ProbeProblem(reason: .targetDenied, text: refusal)
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

/// The address that is probed, and how packets go there.
struct ProbeAddress: Sendable {
    let address: IPAddress
    let verdict: Verdict
    /// How long the name took to resolve.
    let lookupTime: Duration
}

extension ProbeContext {
    /// A host's addresses in the order in which they are tried, and how long they took to resolve.
    ///
    /// - Throws: If there are none.
    func candidates(
        for host: String, _ preference: FamilyPreference, timing metric: ProbeMetric?, _ findings: inout ProbeFindings
    ) async throws(ProbeProblem) -> ([IPAddress], lookupTime: Duration) {
        findings.declare(.lookupTime, .addressFamily, .addressHash)
        let start = self.environment.time.monotonic()
        let result = await self.environment.addresses(of: host, within: self.deadline - start)
        let lookupTime = self.environment.time.monotonic() - start
        findings.set(.lookupTime, lookupTime.inSeconds)
        if let metric { findings.set(metric, lookupTime.inSeconds, labels: ["resolve"]) }
        switch result {
        case .failure(let failure): throw self.environment.problem(failure, of: host)
        case .success(let addresses):
            let family = preference.family
            var candidates = addresses.filter { $0.family == family }
            if preference.allowsFallback { candidates += addresses.filter { $0.family != family } }
            if !candidates.isEmpty { return (candidates, lookupTime) }
            throw ProbeProblem(
                reason: .resolveFailed, text: "\(host) has no \(family.name) address, and the module allows no other")
        }
    }

    /// The address to probe: the first one that is routed; if none is, the first one says why.
    ///
    /// The preferred family counts only if the kernel has a route: a name with IPv6 addresses is no failure of a host
    /// that has none. Without a `source` the routes say nothing: the packets go to a proxy.
    func choose(
        _ candidates: [IPAddress], from source: ProbeSource?, _ lookupTime: Duration, _ findings: inout ProbeFindings
    ) async throws(ProbeProblem) -> ProbeAddress {
        var first: (address: IPAddress, problem: ProbeProblem)?
        for address in candidates {
            var route = AddressRoute(verdict: .unknown)
            if let source { route = await self.route(to: address, from: source) }
            guard let problem = route.problem(to: address) else {
                self.record(address, &findings)
                findings.note("Resolved target address", [("ip", "\(address)")])
                return ProbeAddress(address: address, verdict: route.verdict, lookupTime: lookupTime)
            }
            first = first ?? (address, problem)
        }
        if let first { self.record(first.address, &findings) }
        throw first?.problem ?? .gated(.noRoute, "no path: there is no address")
    }

    // The hash of the 4 or 16 bytes is the one that blackbox_exporter shows (FNV-1a, 32 bits).
    private func record(_ address: IPAddress, _ findings: inout ProbeFindings) {
        let hash = address.octets.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        findings.set(.addressFamily, address.family == .ipv4 ? 4 : 6)
        findings.set(.addressHash, Double(hash))
    }
}

extension ProbeEnvironment {
    /// Why a host gave no address.
    ///
    /// A resolver that cannot be reached says nothing of the name.
    func problem(_ failure: ResolveFailure, of host: String) -> ProbeProblem {
        let verdict = self.network.internet()
        if failure != .nameNotFound, verdict.level != .unknown, verdict.level < .routed {
            let reason = verdict.reason ?? .noRoute
            return .gated(reason, "no path to the resolvers: \(reason)")
        }
        return ProbeProblem(
            reason: failure == .timedOut ? .timedOut : .resolveFailed, party: failure.reason.party,
            text: "\(host) gave no address: \(failure.reason)", isUnresolved: failure != .nameNotFound)
    }
}

extension AddressRoute {
    /// Why no packet can be sent to an address; nil if one can be, or if that is not known.
    func problem(to address: IPAddress) -> ProbeProblem? {
        guard self.verdict.level != .unknown, self.verdict.level < .routed else { return nil }
        let reason = self.verdict.reason ?? .noRoute
        return .gated(reason, "no path to \(address): \(reason.description(ofLink: self.link))")
    }
}
