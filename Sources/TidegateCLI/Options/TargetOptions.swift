internal import ArgumentParser
internal import Glibc
internal import Tidegate

/// `--target`, repeatable.
struct TargetOptions: ParsableArguments {
    @Option(
        name: .customLong("target"),
        help: ArgumentHelp("Also check this target (repeatable).", valueName: "host[:port]"))
    var texts: [String] = []

    /// The targets in the order given.
    func targets() throws -> [Target] {
        try self.texts.map { try OptionParsing.naming("--target", Target($0, zone: TargetText.zone)) }
    }

    func validate() throws { _ = try self.targets() }
}

/// Parses targets; an IPv6 zone may be the name of an interface.
enum TargetText {
    /// A host, a host with a port, or a URL.
    static func parseSubject(_ text: String) throws -> ExplainTarget {
        do {
            // A text with a scheme can only be a URL: what is wrong with it is not what would be wrong with a host.
            if text.contains("://") {
                let target = try HTTPURL(text, zone: self.zone).target
                // Without brackets the last group could be a port (RFC 3986 3.2.2).
                guard target.address?.family != .ipv6 || text.contains("[") else {
                    throw TextError("the IPv6 address in \"\(text)\" must be in brackets: [\(target.host)]")
                }
            }
            return try ExplainTarget(text, zone: self.zone)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The index of an interface, given by name or number; nil if there is no such interface.
    static func zone(_ name: String) -> UInt32? {
        if let number = UInt32(name) {
            var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            return if_indextoname(number, &buffer) == nil ? nil : number
        }
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }
}

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
