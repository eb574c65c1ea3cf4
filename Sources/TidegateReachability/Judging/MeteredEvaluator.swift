internal import TidegateCore
internal import TidegateNetwork

/// Guesses whether traffic over links costs money.
struct MeteredEvaluator {
    // Tunnels in tunnels in tunnels: nobody stacks links higher on purpose.
    private static let depthLimit = 8

    private let surroundings: Surroundings
    private let configured: Set<UInt32>

    /// A judge among these surroundings; `configured` are the links that the configuration says cost money.
    init(_ surroundings: Surroundings, configured: Set<UInt32>) {
        self.surroundings = surroundings
        self.configured = configured
    }

    /// The judgement on a link.
    func metered(_ link: Link) -> Metered { self.metered(link, depth: 0) }

    private func metered(_ link: Link, depth: Int) -> Metered {
        if self.configured.contains(link.index) { return .yes }
        if self.costs(link) { return .guessYes }
        switch link.kind {
        case .tunnel:
            // A tunnel costs what it runs over; where that is not known, the worst that it can run over.
            let isCostly = self.below(link, depth)?.isCostly ?? self.isAnyWayOutCostly
            return isCostly ? .guessYes : .guessNo
        case .virtual: return self.below(link, depth)?.isCostly ?? false ? .guessYes : .guessNo
        case .cellular, .ethernet, .wifi, .bridge, .bond, .loopback, .other: return .guessNo
        }
    }

    private func costs(_ link: Link) -> Bool {
        link.kind == .cellular || self.surroundings.tethers.contains(link.index)
    }

    private func below(_ link: Link, _ depth: Int) -> Metered? {
        guard depth < MeteredEvaluator.depthLimit, let index = self.surroundings.underlays[link.index] else {
            return nil
        }
        return self.surroundings.links[index].map { self.metered($0, depth: depth + 1) }
    }

    private var isAnyWayOutCostly: Bool {
        self.surroundings.links.values.contains { link in
            link.isUsable && link.kind != .tunnel && !link.usableFamilies.isEmpty
                && (self.configured.contains(link.index) || self.costs(link))
        }
    }
}
