internal import TidegateCore
internal import TidegateNetwork

/// What the kernel says at one moment about some addresses, for whoever explains.
struct RouteReport: Sendable {
    /// The kernel's word on one address, and the verdict on it.
    struct Way: Sendable {
        var verdict: Verdict
        var deadLink: UInt32?
        var story: RouteExplanation?
        var resolvesNeighbours = true
    }

    /// Why the kernel cannot be read, in words; nil while it can.
    var blindness: String?
    var health = ReachabilityStatus.Health()
    /// By index.
    var links: [Link] = []
    /// The first sentinel of each family.
    var sentinels: [AddressFamily: IPAddress] = [:]
    /// What was asked for.
    var ways: [IPAddress: Way] = [:]
    /// What is remembered of gateways.
    var memory = NeighbourHistory()

    /// The survey of a monitor that cannot see.
    static func blind(_ words: String) -> RouteReport {
        var survey = RouteReport()
        survey.blindness = words
        return survey
    }

    /// The gateway of a way as it is known now.
    func gateway(_ address: IPAddress) -> GatewayFindings {
        var findings = GatewayFindings()
        guard let way = self.ways[address] else { return findings }
        findings.neighbour = way.story?.neighbour
        findings.resolvesNeighbours = way.resolvesNeighbours
        if let gateway = way.verdict.path?.gateway, let link = way.verdict.path?.index {
            self.memory.recall(NeighbourKey(gateway, on: link), into: &findings)
        }
        return findings
    }
}

/// What a survey is to say something about.
struct RouteQuery: Sendable {
    /// The addresses, with the port and protocol of what would be sent there.
    var questions: [RouteQuestion]
    /// The family's sentinels, too.
    var families: [AddressFamily] = []
    /// Whether the gateways that are found are to be watched for a while.
    var watchesGateways = false
}
