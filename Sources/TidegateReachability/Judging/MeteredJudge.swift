internal import TidegateModel

/// Guesses whether traffic over a link costs money.
enum MeteredJudge {
    /// The judgement on a link among `all`; `isConfigured` where the configuration says that it costs.
    static func metered(_ link: Link, among all: some Collection<Link>, isConfigured: (Link) -> Bool) -> Metered {
        if isConfigured(link) { return .yes }
        switch link.kind {
        case .cellular: return .guessYes
        case .tunnel:
            // A tunnel costs what it runs over; where that is not known, the worst that it can run over.
            let below = all.filter { $0.isUsable && $0.kind != .tunnel && $0.kind != .loopback }
            let isCostly = below.contains { $0.kind == .cellular || isConfigured($0) }
            return isCostly ? .guessYes : .guessNo
        case .ethernet, .wifi, .bridge, .bond, .loopback, .virtual, .other: return .guessNo
        }
    }
}
