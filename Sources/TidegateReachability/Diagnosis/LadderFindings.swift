internal import TidegateCore
internal import TidegateNetwork

/// Everything that a diagnosis found out, from which its explanation is composed.
struct LadderFindings: Sendable {
    var target: ExplainTarget
    /// The families to explain, in order.
    var families: [AddressFamily]
    /// Why the kernel cannot be read; nil while it can.
    var unavailableReason: String?
    var health = ReachabilityStatus.Health()
    var links: [Link] = []
    /// Nil if the host is an address.
    var name: NameFindings?
    var paths: [AddressFamily: PathFindings] = [:]
}

/// What the resolvers answered about the target's name.
struct NameFindings: Sendable {
    var name: String
    /// The system's answer, hosts file included; nil if none came in time.
    var system: Result<[IPAddress], ResolveFailure>?
    var servers: [ResolverFindings] = []
    /// True if systemd-resolved's stub is configured, which answers for the servers behind it.
    var hasStub = false

    /// The addresses to continue with: the system's, otherwise those that a server answered.
    var addresses: [IPAddress] {
        if case .success(let addresses)? = self.system { return addresses }
        return self.servers.flatMap(\.addresses).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// What one resolver answered, and whether packets reach it.
struct ResolverFindings: Sendable {
    var server: IPAddress
    /// The kernel's verdict on the path to it.
    var verdict: Verdict
    /// Its answers about the name, by record type.
    var answers: [DNSQuestion.RecordType: DNSOutcome] = [:]
    /// Its answer about a name that is known to exist; nil if it was not queried.
    var control: DNSOutcome?

    fileprivate var addresses: [IPAddress] {
        DNSQuestion.RecordType.allCases.flatMap { type -> [IPAddress] in
            guard case .answered(let addresses, _)? = self.answers[type] else { return [] }
            return addresses
        }
    }

    /// Every answer, the control's last.
    var outcomes: [DNSOutcome] {
        DNSQuestion.RecordType.allCases.compactMap { self.answers[$0] } + [self.control].compactMap(\.self)
    }
}

/// What was found out about one family's path.
struct PathFindings: Sendable {
    /// What the path leads to.
    enum Subject: Sendable, Hashable {
        /// The target itself.
        case target(IPAddress)
        /// A resolver, because the target's name has no address yet.
        case resolver(IPAddress)
        /// The internet as a whole, if not even a resolver is of this family.
        case sentinel(IPAddress)

        var address: IPAddress {
            switch self {
            case .target(let address), .resolver(let address), .sentinel(let address): address
            }
        }
    }

    var subject: Subject
    /// Every address of the target in this family.
    var addresses: [IPAddress] = []
    /// Those of them without a route, while others have one.
    var unrouted: [IPAddress: Verdict] = [:]
    var verdict = Verdict.unknown
    /// The unusable link that a matching route leads to.
    var deadLink: UInt32?
    var explanation: RouteExplanation?
    var gateway = GatewayFindings()
    /// Nil if no internet checks are configured.
    var internet: [InternetObservation]?
    /// The result at each address that was tried, the subject's among them.
    var web: [IPAddress: HTTPCheck.Result] = [:]
    /// What recent requests over this path showed, and how long ago.
    var passive: PassiveFindings?
}
