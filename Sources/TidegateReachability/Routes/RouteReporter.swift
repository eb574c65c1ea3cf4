internal import TidegateCore
internal import TidegateNetwork

/// Makes route reports; owns the watch on the gateways that they are about.
final class RouteReporter {
    private let kernel: NetlinkClient
    private let evaluator: RouteEvaluator
    private var gateways = GatewayWatch()

    init(kernel: NetlinkClient, evaluator: RouteEvaluator) {
        self.kernel = kernel
        self.evaluator = evaluator
    }

    /// Records neighbours whose entries have changed.
    func record(_ neighbours: [KernelNeighbour]) { neighbours.forEach { self.gateways.record($0) } }

    /// Ends the watch on gateways that no query has covered for a while.
    func expireWatch() { if self.gateways.expire(at: self.kernel.now) { self.kernel.watchNeighbours([]) } }

    /// A report by the evaluator's present snapshot; nil if the kernel cannot be queried.
    func report(_ query: RouteQuery) -> RouteReport? {
        var report = RouteReport()
        report.health = self.kernel.health
        report.links = self.evaluator.reducer.snapshot.sortedLinks
        var questions = query.questions
        for (family, addresses) in self.evaluator.sentinels where query.families.contains(family) {
            guard let sentinel = addresses.first else { continue }
            report.sentinels[family] = sentinel
            questions.append(self.evaluator.context.question(sentinel))
        }
        for question in questions {
            guard let route = self.route(question) else { return nil }
            report.routes[question.destination] = route
            route.explanation?.neighbour.map { self.gateways.record($0) }
        }
        if query.watchesGateways {
            self.gateways.add(report.gatewayKeys, at: self.kernel.now)
            self.kernel.watchNeighbours(self.gateways.keys)
        }
        report.neighbours = self.gateways.history
        // An explanation may be complete although the socket died with its last part.
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

/// Which gateways are watched in the neighbour table, until when, and what was seen of them.
struct GatewayWatch {
    // Long enough for the checks of one explanation or one wait.
    private static let duration = Duration.seconds(60)

    private(set) var keys: Set<NeighbourKey> = []
    private(set) var history = NeighbourHistory()
    private var deadline: MonotonicTime?

    /// Records a neighbour's state.
    mutating func record(_ neighbour: KernelNeighbour) { self.history.record(neighbour) }

    /// Watches these gateways, too, for a while from now.
    mutating func add(_ keys: [NeighbourKey], at now: MonotonicTime) {
        self.deadline = now + GatewayWatch.duration
        self.keys.formUnion(keys)
    }

    /// Ends the watch if it is over; true if that changed something.
    mutating func expire(at now: MonotonicTime) -> Bool {
        guard let deadline = self.deadline, deadline <= now else { return false }
        self = GatewayWatch()
        return true
    }
}
