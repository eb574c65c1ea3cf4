internal import TidegateCore

/// The address that is probed, and how packets go there.
struct ProbeAddress: Sendable {
    let address: IPAddress
    let verdict: Verdict
    /// How long the name took to resolve.
    let lookupTime: Duration
}

extension ProbeContext {
    /// A host's addresses in the order in which they are tried, and how long they took to resolve; nil without any,
    /// which `findings` then say.
    func candidates(
        for host: String, _ preference: FamilyPreference, _ findings: inout ProbeFindings
    ) async -> ([IPAddress], lookupTime: Duration)? {
        findings.declare(.lookupTime, .addressFamily, .addressHash)
        let start = self.environment.time.monotonic()
        let result = await self.environment.addresses(of: host, within: self.deadline - start)
        let lookupTime = self.environment.time.monotonic() - start
        findings.set(.lookupTime, lookupTime.inSeconds)
        switch result {
        case .failure(let failure):
            self.environment.fail(host, failure, &findings)
            return nil
        case .success(let addresses):
            let family = preference.family
            var candidates = addresses.filter { $0.family == family }
            if preference.allowsFallback { candidates += addresses.filter { $0.family != family } }
            if !candidates.isEmpty { return (candidates, lookupTime) }
            findings.fail(
                .resolveFailed, .mine, "\(host) has no \(family.name) address, and the module allows no other")
            return nil
        }
    }

    /// The address to probe: the first one that is routed; if none is, the first one says why.
    ///
    /// The preferred family counts only if the kernel has a route: a name with IPv6 addresses is no failure of a host
    /// that has none. Without a `source` the routes say nothing: the packets go to a proxy.
    func choose(
        _ candidates: [IPAddress], from source: ProbeSource?, _ lookupTime: Duration, _ findings: inout ProbeFindings
    ) async -> ProbeAddress? {
        var first: (address: IPAddress, route: AddressRoute)?
        for address in candidates {
            var route = AddressRoute(verdict: .unknown)
            if let source { route = await self.route(to: address, from: source) }
            let verdict = route.verdict
            if verdict.level == .unknown || verdict.level >= .routed {
                self.record(address, &findings)
                findings.note("Resolved target address", [("ip", "\(address)")])
                return ProbeAddress(address: address, verdict: verdict, lookupTime: lookupTime)
            }
            if first == nil { first = (address, route) }
        }
        guard let first else { return nil }
        self.record(first.address, &findings)
        let reason = first.route.verdict.reason ?? .noRoute
        findings.gate(reason, "no path to \(first.address): \(reason.description(ofLink: first.route.link))")
        return nil
    }

    // The hash of the 4 or 16 bytes is the one that blackbox_exporter shows (FNV-1a, 32 bits).
    private func record(_ address: IPAddress, _ findings: inout ProbeFindings) {
        let hash = address.octets.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        findings.set(.addressFamily, address.family == .ipv4 ? 4 : 6)
        findings.set(.addressHash, Double(hash))
    }
}

extension ProbeEnvironment {
    /// Records that a host gave no address.
    ///
    /// A resolver that cannot be reached says nothing of the name.
    func fail(_ host: String, _ failure: ResolveFailure, _ findings: inout ProbeFindings) {
        let verdict = self.network.internet()
        if failure != .nameNotFound, verdict.level != .unknown, verdict.level < .routed {
            let reason = verdict.reason ?? .noRoute
            return findings.gate(reason, "no path to the resolvers: \(reason)")
        }
        findings.failLookup(failure, of: host)
    }
}
