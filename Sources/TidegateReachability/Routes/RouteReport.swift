internal import TidegateCore
internal import TidegateNetwork

/// What the kernel says at one moment about the routes to some addresses.
struct RouteReport: Sendable {
    /// The kernel's answer about one address, and the verdict on it.
    struct Route: Sendable {
        var verdict: Verdict
        /// The unusable link that a matching route leads to.
        var deadLink: UInt32?
        var explanation: RouteExplanation?
        /// False for links without neighbours: tunnels, point-to-point links.
        var resolvesNeighbours = true
    }

    /// Why the kernel cannot be read; nil while it can.
    var unavailableReason: String?
    var health = ReachabilityStatus.Health()
    /// By index.
    var links: [Link] = []
    /// The first sentinel of each family in the query.
    var sentinels: [AddressFamily: IPAddress] = [:]
    /// By destination.
    var routes: [IPAddress: Route] = [:]
    /// What is remembered of gateways.
    var neighbours = NeighbourHistory()

    /// The report of a monitor that cannot read the kernel.
    static func unavailable(_ reason: String) -> RouteReport {
        var report = RouteReport()
        report.unavailableReason = reason
        return report
    }

    /// What is known about the gateway on the route to an address.
    func gateway(_ address: IPAddress) -> GatewayFindings {
        var findings = GatewayFindings()
        guard let route = self.routes[address] else { return findings }
        findings.neighbour = route.explanation?.neighbour
        findings.resolvesNeighbours = route.resolvesNeighbours
        if let key = route.verdict.path?.gatewayKey { self.neighbours.recall(key, into: &findings) }
        return findings
    }
}

/// What a route report is to cover.
struct RouteQuery: Sendable {
    /// The addresses, with port and protocol of what would be sent there.
    var questions: [RouteQuestion]
    /// Families whose first sentinel is covered, too.
    var families: [AddressFamily] = []
    /// Whether the gateways found are watched for a while.
    var watchesGateways = false
}

/// Remembers about watched neighbours what their present state no longer shows.
struct NeighbourHistory: Sendable {
    // Those that were FAILED and have not been REACHABLE since, and those that have been REACHABLE.
    private var stuck: Set<NeighbourKey> = []
    private var reachable: Set<NeighbourKey> = []

    /// Records a neighbour's state: FAILED counts until it is REACHABLE.
    mutating func record(_ neighbour: KernelNeighbour) {
        switch neighbour.state {
        case .failed: self.stuck.insert(neighbour.key)
        case .reachable, .permanent, .noarp:
            self.stuck.remove(neighbour.key)
            self.reachable.insert(neighbour.key)
        case .none, .incomplete, .stale, .delay, .probe: break
        }
    }

    /// Adds what is remembered to `findings`.
    func recall(_ key: NeighbourKey, into findings: inout GatewayFindings) {
        findings.isStuck = self.stuck.contains(key)
        findings.wasReachable = self.reachable.contains(key)
    }
}
