internal import TidegateCore
internal import TidegateNetwork

/// Makes route reports; owns the watch on the gateways that they are about.
final class RouteReporter {
    private let kernel: NetlinkClient
    private let evaluator: RouteEvaluator
    // The gateways that are watched in the neighbour table, until when, and what was seen of them.
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

    /// Ends the watch on gateways that no query has covered for a while.
    func expireWatch() {
        guard let end = self.watchEnd, end <= self.kernel.now else { return }
        (self.watched, self.watchEnd, self.neighbours) = ([], nil, NeighbourHistory())
        self.kernel.watchNeighbours([])
    }

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
            route.explanation?.neighbour.map { self.neighbours.record($0) }
        }
        if query.watchesGateways {
            self.watchEnd = self.kernel.now + RouteReporter.watchDuration
            self.watched.formUnion(report.routes.values.compactMap(\.verdict.path?.gatewayKey))
            self.kernel.watchNeighbours(self.watched)
        }
        report.neighbours = self.neighbours
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
