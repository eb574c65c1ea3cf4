internal import TidegateCore

/// The address that is probed, and how packets go there.
struct ProbeAddress: Sendable {
    let address: IPAddress
    let verdict: Verdict
    /// How long the name took to resolve.
    let lookupTime: Duration
}

/// Finds the address of a target that is probed.
struct ProbeAddressFinder: Sendable {
    let environment: ProbeEnvironment
    let preference: FamilyPreference
    /// How packets go to an address, which has to be routed.
    let route: @Sendable (IPAddress) async -> AddressRoute

    /// The address to probe; nil if there is none, or no path to it, which `findings` then say.
    ///
    /// The preferred family counts only if the kernel has a route: a name with IPv6 addresses is no failure of a host
    /// that has none.
    func address(
        of host: String, until deadline: MonotonicTime, _ findings: inout ProbeFindings
    ) async -> ProbeAddress? {
        findings.declare(.lookupTime, .addressFamily, .addressHash)
        let start = self.environment.time.monotonic()
        let result = await self.environment.addresses(of: host, within: deadline - start)
        let lookupTime = self.environment.time.monotonic() - start
        findings.set(.lookupTime, lookupTime.inSeconds)
        switch result {
        case .failure(let failure):
            self.environment.fail(host, failure, &findings)
            return nil
        case .success(let addresses):
            let candidates = self.inOrder(addresses)
            guard !candidates.isEmpty else {
                let family = self.preference.family.name
                findings.fail(.resolveFailed, .mine, "\(host) has no \(family) address, and the module allows no other")
                return nil
            }
            return await self.choose(candidates, lookupTime, &findings)
        }
    }

    private func inOrder(_ addresses: [IPAddress]) -> [IPAddress] {
        let preferred = addresses.filter { $0.family == self.preference.family }
        guard self.preference.allowsFallback else { return preferred }
        return preferred + addresses.filter { $0.family != self.preference.family }
    }

    // The first one that is routed; if none is, the first one says why.
    private func choose(
        _ candidates: [IPAddress], _ lookupTime: Duration, _ findings: inout ProbeFindings
    ) async -> ProbeAddress? {
        var first: (address: IPAddress, route: AddressRoute)?
        for address in candidates {
            let route = await self.route(address)
            let verdict = route.verdict
            if verdict.level == .unknown || verdict.level >= .routed {
                findings.set(.addressFamily, address.family == .ipv4 ? 4 : 6)
                findings.set(.addressHash, Double(address.fnv1a))
                findings.note("Resolved target address", [("ip", "\(address)")])
                return ProbeAddress(address: address, verdict: verdict, lookupTime: lookupTime)
            }
            if first == nil { first = (address, route) }
        }
        guard let first else { return nil }
        findings.set(.addressFamily, first.address.family == .ipv4 ? 4 : 6)
        findings.set(.addressHash, Double(first.address.fnv1a))
        let reason = first.route.verdict.reason ?? .noRoute
        findings.gate(reason, "no path to \(first.address): \(reason.description(ofLink: first.route.link))")
        return nil
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

extension IPAddress {
    /// The hash of its 4 or 16 bytes that blackbox_exporter shows (FNV-1a, 32 bits).
    var fnv1a: UInt32 {
        self.octets.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    }
}
