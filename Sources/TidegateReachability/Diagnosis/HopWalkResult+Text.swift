internal import TidegateCore

extension HopWalkResult {
    /// The first hop's round trip; nil if it did not answer.
    var firstHop: Duration? { self.answers.first { $0.hop == 1 }?.duration }

    /// The routers as values.
    var values: [RungValues.Hop] {
        self.answers.map { RungValues.Hop(limit: $0.hop, router: $0.address, duration: $0.duration) }
    }

    /// What the walk found, in one clause; `place` is what it led to.
    func evidence(to place: String) -> String {
        if let arrival = self.arrival {
            return
                "\(place) itself answers a hop walk (hop \(arrival.hop), \(LadderDescriptions.time(arrival.duration)))"
        }
        if !self.loop.isEmpty {
            let routers = self.loop.map(\.description).joined(separator: ", ")
            return "packets to \(place) go in circles between \(routers)"
        }
        guard let last = self.lastAnswer else { return "no router answers on the way to \(place)" }
        let time = LadderDescriptions.time(last.duration)
        return "the last router that answers on the way to \(place) is \(last.address) (hop \(last.hop), \(time))"
    }
}
