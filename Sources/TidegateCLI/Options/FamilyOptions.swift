internal import ArgumentParser
internal import TidegateCore

/// `-4` and `-6`.
struct FamilyOptions: ParsableArguments {
    @Flag(name: .customShort("4"), help: "Look at IPv4 only.")
    var isIPv4 = false

    @Flag(name: .customShort("6"), help: "Look at IPv6 only.")
    var isIPv6 = false

    /// The one family asked for; nil for both.
    var family: AddressFamily? { self.isIPv4 ? .ipv4 : self.isIPv6 ? .ipv6 : nil }

    func validate() throws {
        if self.isIPv4, self.isIPv6 { throw ValidationError("-4 and -6 exclude each other") }
    }
}

extension ReachabilityStatus {
    /// The status with one family only, and the global verdict that follows from it.
    func only(_ family: AddressFamily?) -> ReachabilityStatus {
        guard let family else { return self }
        var status = self
        status.families = self.families.filter { $0.family == family }
        status.global = ReachabilityStatus.global(over: status.families)
        status.targets = self.targets.map { entry in
            let addresses = entry.addresses.filter { $0.address.family == family }
            let best = addresses.max { $0.verdict.level < $1.verdict.level }?.verdict
            // A name without an address of the family has no verdict to keep, unless none is known of it at all.
            let verdict = best ?? (entry.addresses.isEmpty ? entry.verdict : Verdict(level: .none, reason: .noAddress))
            return TargetVerdict(target: entry.target, verdict: verdict, addresses: addresses)
        }
        return status
    }
}
