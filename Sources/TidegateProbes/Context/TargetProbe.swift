internal import TidegateCore
internal import TidegateNetwork

/// A way to probe a target: a prober with a module's options.
protocol TargetProbe: Sendable {
    /// Performs the probe; all results go into `findings`.
    ///
    /// - Throws: The problem that ended the probe early, unless the findings already contain it.
    func run(_ target: String, _ findings: inout ProbeFindings) async throws(ProbeProblem)
    /// The subject of a diagnosis, if no observation shows the responsible party; nil for none.
    ///
    /// Contains the `address` that was probed, because the name may resolve differently by now, and the port of a
    /// redirect.
    func subject(of target: String, at address: IPAddress, redirectedTo port: UInt16?) -> ProbeSubject?
    /// How its packets leave this host.
    var source: ProbeSource { get }
}

extension Target {
    /// A host with a port; the error of a text that is neither quotes no password and no query of it.
    init(probed text: String) throws {
        guard Secrets.target(text) == text else {
            throw TextError("\"\(Secrets.target(text))\" is not HOST:PORT")
        }
        try self.init(text)
    }
}

extension TargetProbe {
    /// The kernel's choice.
    var source: ProbeSource { ProbeSource() }
}

/// The dependencies of every kind of probe.
struct ProbeContext: Sendable {
    let environment: ProbeEnvironment
    let policy: ProbeTargetPolicy
    let credentials: CredentialPolicy
    let deadline: MonotonicTime
    /// The memory shared by the bodies of all probes.
    let bodies: ProbeBudget
    /// The right to decode a document, held by one probe at a time: decoding takes many times the size of the body.
    let documents: ProbeBudget

    /// The remaining time.
    var remaining: Duration { max(.zero, self.deadline - self.environment.time.monotonic()) }

    /// The address of a host to probe; `metric` receives the lookup time as its phase `resolve`.
    ///
    /// Without a `source` the packets go to a proxy, whose address may be of either family.
    /// - Throws: If the host has no address, if the address has no path, or if it must not be probed.
    func address(
        of target: Target, preferring preference: FamilyPreference, from source: ProbeSource? = ProbeSource(),
        timing metric: ProbeMetric?, _ findings: inout ProbeFindings
    ) async throws(ProbeProblem) -> ProbeAddress {
        let preference = source?.narrowing(preference) ?? preference
        let (candidates, time) = try await self.candidates(for: target.host, preference, timing: metric, &findings)
        let usable = (source ?? ProbeSource()).usable(candidates)
        let address = try await self.choose(usable, from: source, time, &findings)
        findings.address = address.address
        let refusal =
            self.policy.refusal(of: target.host, at: address.address)
            ?? self.credentials.refusal(of: target, at: address.address, address.verdict)
        guard let refusal else { return address }
        throw ProbeProblem(reason: .targetDenied, text: refusal)
    }

    /// The route of packets from `source` to an address.
    ///
    /// Packets bound to one interface need a route by it: without one the kernel would take every address for a host of
    /// that link.
    func route(to address: IPAddress, from source: ProbeSource) async -> AddressRoute {
        guard let name = source.interface else { return await self.environment.network.route(address) }
        // Over IPv6 the socket's own error says so.
        let isRouted = address.family == .ipv6 ? true : await self.environment.network.isRouted(address, name)
        guard let fault = NetworkInterface.fault(of: name) ?? (isRouted ? nil : .noRoute) else {
            return AddressRoute(verdict: .unknown)
        }
        return AddressRoute(verdict: Verdict(level: .none, reason: fault), link: name)
    }

    /// The evidence about a failure on the way from `source` to an address.
    func evidence(
        _ failure: TaskFailure, at address: ProbeAddress, from source: ProbeSource, stage: Stage? = nil
    ) -> FailureEvidence {
        // A diagnosis does not cover another way out.
        let found = source.isBound ? nil : self.environment.network.diagnosis(address.address.family)
        return FailureEvidence(
            failure: failure, stage: stage, peer: address.address, before: address.verdict, after: address.verdict
        ).adding(found)
    }
}

extension ProbeSubject {
    /// An address with a port, diagnosed up to TCP; the probe has already examined the rungs above.
    static func address(_ address: IPAddress, port: UInt16?) -> ProbeSubject {
        // A diagnosis would expect the address in that port's certificate.
        .target(Target(address: address, port: port == 443 ? nil : port))
    }
}

extension ProbeSource {
    /// Records an error of the source itself, which kept a connection from leaving; false for other errors.
    func explains(_ error: SocketError?, at address: IPAddress, _ findings: inout ProbeFindings) -> Bool {
        switch error {
        case .addressNotAvailable:
            guard let source = self.address else { return false }
            findings.fail(.connectFailed, .mine, "this host does not have the source address \(source)")
        case .networkUnreachable, .hostUnreachable:
            // A router may report the same error.
            guard let name = self.interface, !NetworkInterface.routes(to: address, by: name) else { return false }
            findings.gate(.noRoute, "no path to \(address) by \(name): no route")
        default: return false
        }
        return true
    }
}

/// The address to probe, and its route.
struct ProbeAddress: Sendable {
    let address: IPAddress
    let verdict: Verdict
    /// The duration of the name lookup.
    let lookupTime: Duration
}

extension ProbeContext {
    /// A host's addresses in the order of attempts, and the duration of the lookup.
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

    /// The address to probe: the first one with a route; without one, the error is about the first address.
    ///
    /// The preferred family only counts if the kernel has a route: IPv6 addresses of a name must not fail on a host
    /// without IPv6. Without a `source` the packets go to a proxy, so the routes do not matter.
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

    // The hash of the 4 or 16 bytes, equal to blackbox_exporter's (FNV-1a, 32 bits).
    private func record(_ address: IPAddress, _ findings: inout ProbeFindings) {
        let hash = address.octets.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        findings.set(.addressFamily, address.family == .ipv4 ? 4 : 6)
        findings.set(.addressHash, Double(hash))
    }
}

extension ProbeEnvironment {
    /// Why a host has no address.
    ///
    /// An unreachable resolver says nothing about the name.
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
    /// Why no packet can be sent to an address; nil if one can be sent, or if the route is unknown.
    func problem(to address: IPAddress) -> ProbeProblem? {
        guard self.verdict.level != .unknown, self.verdict.level < .routed else { return nil }
        let reason = self.verdict.reason ?? .noRoute
        return .gated(reason, "no path to \(address): \(reason.description(ofLink: self.link))")
    }
}
