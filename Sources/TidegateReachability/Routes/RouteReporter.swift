internal import TidegateCore
internal import TidegateNetwork

/// Creates route reports; owns the watch on their gateways.
final class RouteReporter {
    private let kernel: NetlinkClient
    private let evaluator: RouteEvaluator
    // The watched gateways of the neighbour table, the end of each watch, and the observations.
    private var watched: Set<NeighbourKey> = []
    private var watchEnd: MonotonicTime?
    private var neighbours = NeighbourHistory()

    // Long enough for the checks of one explanation or one wait.
    private static let watchDuration = Duration.seconds(60)

    init(kernel: NetlinkClient, evaluator: RouteEvaluator) {
        self.kernel = kernel
        self.evaluator = evaluator
    }

    /// Records neighbours whose entries have changed.
    func record(_ neighbours: [KernelNeighbour]) { neighbours.forEach { self.neighbours.record($0) } }

    /// Stops watching gateways that no query has covered for a while.
    func expireWatch() {
        guard let end = self.watchEnd, end <= self.kernel.now else { return }
        (self.watched, self.watchEnd, self.neighbours) = ([], nil, NeighbourHistory())
        self.kernel.watchNeighbours([])
    }

    /// A report by the evaluator's current snapshot; nil if the kernel cannot be queried.
    func report(_ query: RouteQuery) -> RouteReport? {
        var report = RouteReport()
        report.health = self.kernel.health
        report.links = self.evaluator.reducer.snapshot.sortedLinks
        report.costlyLinks = self.evaluator.reducer.costlyLinks
        var questions = query.questions
        for (family, addresses) in self.evaluator.sentinels where query.families.contains(family) {
            guard let sentinel = addresses.first else { continue }
            report.sentinels[family] = sentinel
            questions.append(self.evaluator.context.question(sentinel))
        }
        for question in questions {
            guard let route = self.route(question) else { return nil }
            report.routes[question.destination] = route
            route.explanation?.neighbour.map { self.neighbours.record($0) }
        }
        if query.watchesGateways {
            self.watchEnd = self.kernel.now + RouteReporter.watchDuration
            self.watched.formUnion(report.routes.values.compactMap(\.verdict.path?.gatewayKey))
            self.kernel.watchNeighbours(self.watched)
        }
        report.neighbours = self.neighbours
        // An explanation may be complete even if the socket failed with its last part.
        return self.kernel.isConnected ? report : nil
    }

    private func route(_ question: RouteQuestion) -> RouteReport.Route? {
        guard let explanation = self.kernel.explanation(of: question) else { return nil }
        let reducer = self.evaluator.reducer
        let result = reducer.evaluate(explanation.lookup, of: question.destination)
        var route = RouteReport.Route(
            verdict: reducer.address(question.destination, result), explanation: explanation)
        if case .failed(_, let deadLink) = result { route.deadLink = deadLink }
        if let index = route.verdict.path?.index, let link = self.kernel.tables.link(index) {
            route.resolvesNeighbours = link.hasNeighbours
        }
        return route
    }
}

/// The kernel's current answer about the routes to some addresses.
struct RouteReport: Sendable {
    /// The kernel's answer about one address, and the verdict on it.
    struct Route: Sendable {
        var verdict: Verdict
        /// The unusable link of a matching route.
        var deadLink: UInt32?
        var explanation: RouteExplanation?
        /// Whether the link has neighbours; false for tunnels and point-to-point links.
        var resolvesNeighbours = true
    }

    /// Why the kernel cannot be read; nil if it can.
    var unavailableReason: String?
    var health = ReachabilityStatus.Health()
    /// The links by index.
    var links: [Link] = []
    /// The links over which traffic may cost money.
    var costlyLinks: Set<String> = []
    /// The first sentinel of each family in the query.
    var sentinels: [AddressFamily: IPAddress] = [:]
    /// The routes by destination.
    var routes: [IPAddress: Route] = [:]
    /// Remembered states of gateways.
    var neighbours = NeighbourHistory()

    /// The report of a monitor that cannot read the kernel.
    static func unavailable(_ reason: String) -> RouteReport {
        var report = RouteReport()
        report.unavailableReason = reason
        return report
    }

    /// The findings about the gateway on the route to an address.
    func gateway(_ address: IPAddress) -> GatewayFindings {
        var findings = GatewayFindings()
        guard let route = self.routes[address] else { return findings }
        findings.neighbour = route.explanation?.neighbour
        findings.resolvesNeighbours = route.resolvesNeighbours
        if let key = route.verdict.path?.gatewayKey { self.neighbours.recall(key, into: &findings) }
        return findings
    }
}

/// The scope of a route report.
struct RouteQuery: Sendable {
    /// The addresses, with the port and protocol of the packets.
    var questions: [RouteQuestion]
    /// Families whose first sentinel the report must also cover.
    var families: [AddressFamily] = []
    /// Whether to watch the gateways found, for a while.
    var watchesGateways = false
}

/// Remembers states of watched neighbours that their current state no longer shows.
struct NeighbourHistory: Sendable {
    // Neighbours that were FAILED and have not been REACHABLE since, and neighbours that have been REACHABLE.
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

    /// Adds the remembered states to `findings`.
    func recall(_ key: NeighbourKey, into findings: inout GatewayFindings) {
        findings.isStuck = self.stuck.contains(key)
        findings.wasReachable = self.reachable.contains(key)
    }
}
