internal import TidegateCore
internal import TidegateNetwork

/// All that a climb found out: what an explanation is composed from, without asking anybody else.
struct LadderFindings: Sendable {
    var target: ExplainTarget
    /// The families to explain, in order.
    var families: [AddressFamily]
    /// Why the kernel cannot be read, in words; nil while it can.
    var blindness: String?
    var health = ReachabilityStatus.Health()
    var links: [Link] = []
    /// Nil where the host is an address.
    var name: NameFindings?
    var ways: [AddressFamily: WayFindings] = [:]
}

/// What the resolvers said about the target's name.
struct NameFindings: Sendable {
    var name: String
    /// The system's answer, hosts file included; nil where none came in time.
    var system: Result<[IPAddress], ResolveFailure>?
    var servers: [ResolverFindings] = []
    /// True for a host of systemd-resolved's stub: what answers behind it, answers for it.
    var hasStub = false

    /// The addresses to go on with: the system's, else what a server said.
    var addresses: [IPAddress] {
        if case .success(let addresses)? = self.system { return addresses }
        return self.servers.flatMap(\.addresses).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// What one resolver said, and whether packets get to it.
struct ResolverFindings: Sendable {
    var server: IPAddress
    /// The kernel's verdict on the way to it.
    var verdict: Verdict
    /// What it said about the name, by record type.
    var answers: [DNSQuestion.RecordType: DNSOutcome] = [:]
    /// What it said about a name that surely exists; nil where it was not asked.
    var control: DNSOutcome?

    fileprivate var addresses: [IPAddress] {
        DNSQuestion.RecordType.allCases.flatMap { type -> [IPAddress] in
            guard case .answered(let addresses, _)? = self.answers[type] else { return [] }
            return addresses
        }
    }

    /// Every answer there is, the control's last.
    var outcomes: [DNSOutcome] {
        DNSQuestion.RecordType.allCases.compactMap { self.answers[$0] } + [self.control].compactMap(\.self)
    }
}

/// What was found on one family's way.
struct WayFindings: Sendable {
    /// What the way leads to.
    enum Subject: Sendable, Hashable {
        /// The target itself.
        case target(IPAddress)
        /// A resolver, because the target's name has no address yet.
        case resolver(IPAddress)
        /// The internet at large, where not even a resolver is of this family.
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
    /// Those of them that no packet would be sent to, while others can be reached.
    var unrouted: [IPAddress: Verdict] = [:]
    var verdict = Verdict.unknown
    /// The link that a matching route leads to in vain.
    var deadLink: UInt32?
    var story: RouteExplanation?
    var gateway = GatewayFindings()
    /// Nil where nobody asked for internet checks.
    var internet: [InternetObservation]?
    /// What was found at each address that was tried, the subject's among them.
    var web: [IPAddress: HTTPCheck.Result] = [:]
    /// What requests over this way showed lately, and how long ago.
    var passive: PassiveFindings?
}

/// What is known about a gateway.
struct GatewayFindings: Sendable {
    /// As the kernel has it after the poke.
    var neighbour: KernelNeighbour?
    var poke: UDPProbe.Result?
    /// FAILED was heard, and REACHABLE not since.
    var isStuck = false
    /// It was REACHABLE before.
    var wasReachable = false
    /// False for links that know no neighbours: tunnels, point-to-point links.
    var resolvesNeighbours = true
}

/// What requests that succeeded lately show.
struct PassiveFindings: Sendable, Hashable {
    /// How long ago an answer came.
    var answered: Duration
    var remote: IPAddress
    /// How long ago a name was resolved on the way; nil where none was.
    var resolved: Duration?
    /// How long ago a server out in the world proved who it is; nil where none did.
    var internet: Duration?
}
