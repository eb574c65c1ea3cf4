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
