internal import TidegateCore
internal import TidegateNetwork

/// Guesses whether traffic over links costs money.
struct MeteredEvaluator {
    // Bounds cycles: links are not stacked higher on purpose.
    private static let depthLimit = 8

    private let snapshot: NetworkSnapshot
    private let configured: Set<UInt32>

    /// An evaluator by this snapshot; `configured` are the links that the configuration says cost money.
    init(_ snapshot: NetworkSnapshot, configured: Set<UInt32>) {
        self.snapshot = snapshot
        self.configured = configured
    }

    /// Whether traffic over a link costs money.
    func metered(_ link: Link) -> Metered { self.metered(link, depth: 0) }

    private func metered(_ link: Link, depth: Int) -> Metered {
        if self.configured.contains(link.index) { return .yes }
        if self.costs(link) { return .guessYes }
        switch link.kind {
        case .tunnel:
            // A tunnel costs what it runs over; if that is not known, the worst that it can run over.
            let isCostly = self.below(link, depth)?.isCostly ?? self.isAnyUplinkCostly
            return isCostly ? .guessYes : .guessNo
        case .virtual: return self.below(link, depth)?.isCostly ?? false ? .guessYes : .guessNo
        case .cellular, .ethernet, .wifi, .bridge, .bond, .loopback, .other: return .guessNo
        }
    }

    private func costs(_ link: Link) -> Bool {
        link.kind == .cellular || self.snapshot.tethers.contains(link.index)
    }

    private func below(_ link: Link, _ depth: Int) -> Metered? {
        guard depth < MeteredEvaluator.depthLimit, let index = self.snapshot.underlays[link.index] else {
            return nil
        }
        return self.snapshot.links[index].map { self.metered($0, depth: depth + 1) }
    }

    private var isAnyUplinkCostly: Bool {
        self.snapshot.links.values.contains { link in
            link.isUsable && link.kind != .tunnel && !link.usableFamilies.isEmpty
                && (self.configured.contains(link.index) || self.costs(link))
        }
    }
}
