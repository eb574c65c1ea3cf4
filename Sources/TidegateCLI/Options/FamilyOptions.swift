internal import ArgumentParser
internal import TidegateCore

/// `-4` and `-6`.
struct FamilyOptions: ParsableArguments {
    @Flag(name: .customShort("4"), help: "Use IPv4 only.")
    var isIPv4 = false

    @Flag(name: .customShort("6"), help: "Use IPv6 only.")
    var isIPv6 = false

    /// The selected family; nil for both.
    var family: AddressFamily? { self.isIPv4 ? .ipv4 : self.isIPv6 ? .ipv6 : nil }

    func validate() throws {
        if self.isIPv4, self.isIPv6 { throw ValidationError("-4 and -6 are mutually exclusive") }
    }
}

extension ReachabilityStatus {
    /// The status restricted to one family, with the global verdict that follows from it.
    func only(_ family: AddressFamily?) -> ReachabilityStatus {
        guard let family else { return self }
        var status = self
        status.families = self.families.filter { $0.family == family }
        status.global = ReachabilityStatus.global(over: status.families)
        status.targets = self.targets.map { entry in
            let addresses = entry.addresses.filter { $0.address.family == family }
            let best = addresses.max { $0.verdict.level < $1.verdict.level }?.verdict
            // A name that has addresses, but none of this family, has no address; one that is unresolved keeps its verdict.
            let verdict = best ?? (entry.addresses.isEmpty ? entry.verdict : Verdict(level: .none, reason: .noAddress))
            return TargetVerdict(target: entry.target, verdict: verdict, addresses: addresses)
        }
        return status
    }
}
