internal import TidegateCore
internal import TidegateNetwork

// What the netlink thread answers to whoever climbs the ladder.
extension ReachabilityEngine {
    // IFF_LOOPBACK is left to the verdict; IFF_POINTOPOINT and IFF_NOARP know no neighbours (netdevice(7)).
    private static let neighbourlessFlags: UInt32 = 1 << 4 | 1 << 7
    private static let gatewayWatch = Duration.seconds(60)

    /// Looks at some addresses now, with everything that there is to tell about them.
    func survey(_ question: RouteQuery) -> RouteReport {
        guard case .connected = self.kernel.state else { return .blind(self.blindnessWords) }
        let reducer = self.currentReducer()
        var survey = RouteReport()
        survey.health = self.kernel.health
        survey.links = reducer.surroundings.sortedLinks
        var questions = question.questions
        for family in question.families {
            guard let sentinel = self.sentinels.first(where: { $0.0 == family })?.1.first else { continue }
            survey.sentinels[family] = sentinel
            questions.append(self.parts.configuration.asker.question(sentinel))
        }
        for question in questions {
            guard let way = self.way(question, reducer) else {
                self.loseSight()
                return .blind(self.blindnessWords)
            }
            survey.ways[question.destination] = way
        }
        if question.watchesGateways { self.watchGateways(of: survey) }
        // What only rounds a story off may have found the socket dead.
        guard case .connected = self.kernel.state else {
            self.loseSight()
            return .blind(self.blindnessWords)
        }
        for way in survey.ways.values { way.story?.neighbour.map { self.memory.heard($0) } }
        survey.memory = self.memory
        return survey
    }

    private var blindnessWords: String {
        switch self.kernel.state {
        case .unavailable(let reason): reason
        case .starting, .connected: "the kernel has not been read yet"
        }
    }

    private func way(_ question: RouteQuestion, _ reducer: VerdictReducer) -> RouteReport.Way? {
        guard let story = self.kernel.explanation(of: question) else { return nil }
        let judgement = reducer.judge(story.lookup, of: question.destination)
        var way = RouteReport.Way(verdict: reducer.address(question.destination, judgement), story: story)
        if case .failed(_, let deadLink) = judgement { way.deadLink = deadLink }
        if let index = way.verdict.path?.index, let link = self.kernel.tables.link(index) {
            way.resolvesNeighbours = link.flags & ReachabilityEngine.neighbourlessFlags == 0
        }
        return way
    }

    // MARK: Gateways

    private func watchGateways(of survey: RouteReport) {
        let keys = survey.ways.values.compactMap { way -> NeighbourKey? in
            guard let path = way.verdict.path, let gateway = path.gateway else { return nil }
            return NeighbourKey(gateway, on: path.index)
        }
        self.gatewaysWatchedUntil = self.kernel.now + ReachabilityEngine.gatewayWatch
        self.watchedGateways.formUnion(keys)
        self.kernel.watchNeighbours(self.watchedGateways)
    }

    /// Lets the neighbour table alone again once nobody has asked about a gateway for a while.
    func forgetGateways() {
        guard let until = self.gatewaysWatchedUntil, until <= self.kernel.now else { return }
        self.gatewaysWatchedUntil = nil
        self.watchedGateways = []
        self.memory = NeighbourHistory()
        self.kernel.watchNeighbours([])
    }
}
