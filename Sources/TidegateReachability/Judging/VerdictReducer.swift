internal import TidegateCore
internal import TidegateNetwork

/// Reduces lookups to verdicts: values in, values out.
struct VerdictReducer {
    /// What thousands of lookups ask about a link.
    private struct Way {
        var path: NetworkPath
        var isUsable: Bool
        var isTunnel: Bool
    }

    /// The leg of a route that packets take.
    private struct Choice {
        var way: Way
        var gateway: IPAddress?
        var live: Int
        var total: Int
    }

    let surroundings: Surroundings
    private let ways: [UInt32: Way]
    private let loopback: Link?

    /// A reducer among these surroundings; `meteredLinks` are those that the configuration calls metered.
    init(_ surroundings: Surroundings, meteredLinks: Set<UInt32> = []) {
        self.surroundings = surroundings
        self.loopback = surroundings.links.values.first { $0.kind == .loopback }
        let judge = MeteredEvaluator(surroundings, configured: meteredLinks)
        self.ways = surroundings.links.mapValues { link in
            Way(
                path: NetworkPath(
                    interface: link.name, index: link.index, generation: link.generation,
                    metered: judge.metered(link)),
                isUsable: surroundings.isUsable(link.index), isTunnel: link.kind == .tunnel)
        }
    }

    // MARK: One lookup

    /// Judges the kernel's two answers about a destination.
    func judge(_ lookup: RouteLookup, of destination: IPAddress) -> Judgement {
        switch (lookup.matched, lookup.chosen) {
        case (.none, _), (_, .none): .silent
        case (.refused(let code, let hasText), _), (.route, .refused(let code, let hasText)):
            UnreachableReason(lookupErrno: code, hasText: hasText, family: destination.family)
                .map { .failed($0, deadLink: nil) } ?? .silent
        case (.route(let matched), .route(let chosen)):
            switch matched.kind {
            case .local: self.thisHost(chosen)
            case .broadcast, .multicast, .anycast: .failed(.notAHost, deadLink: nil)
            case .unicast: self.judge(VerdictReducer.whole(matched, chosen), chosen, to: destination)
            case .other(let type): .failed(VerdictReducer.reason(ofType: type), deadLink: nil)
            }
        }
    }

    private static func reason(ofType type: UInt8) -> UnreachableReason {
        switch type {
        case 6: .blackholed
        case 7: .routeUnreachable
        case 8: .prohibited
        default: .noRoute
        }
    }

    private func thisHost(_ chosen: KernelRoute) -> Judgement {
        let path = NetworkPath(
            interface: self.loopback?.name ?? "lo", index: self.loopback?.index ?? 1,
            generation: self.loopback?.generation ?? 0,
            source: chosen.source, table: chosen.table, metered: .guessNo)
        return .routed(path, notes: [.thisHost], expiresIn: nil)
    }

    // With nexthop_compat_mode 0 a route by a nexthop object names only that; where it leads, the choice says.
    private static func whole(_ matched: KernelRoute, _ chosen: KernelRoute) -> KernelRoute {
        guard matched.link == nil, matched.nexthops.isEmpty else { return matched }
        var matched = matched
        (matched.link, matched.gateway) = (chosen.link, chosen.gateway)
        return matched
    }

    private func judge(_ matched: KernelRoute, _ chosen: KernelRoute, to destination: IPAddress) -> Judgement {
        guard let choice = self.choose(matched, chosen) else { return self.dead(matched.legs) }
        guard let source = chosen.source, let quality = self.surroundings.sources[source.withoutZone],
            !quality.isLinkLocal || destination.isLinkLocal
        else { return .failed(.noSourceAddress, deadLink: nil) }
        let way = choice.way
        var path = way.path
        path.gateway = choice.gateway
        path.source = source
        path.table = matched.table
        var notes: [PathWarning] = []
        if choice.live < choice.total {
            notes.append(.degradedMultipath(live: choice.live, total: choice.total))
        }
        if quality.isDeprecated { notes.append(.deprecatedOnly) }
        if source.isUniqueLocal, !destination.isUniqueLocal { notes.append(.uniqueLocalSource) }
        if way.isTunnel { notes.append(.tunnel) }
        return .routed(path, notes: notes, expiresIn: matched.expiresIn)
    }

    private func choose(_ matched: KernelRoute, _ chosen: KernelRoute) -> Choice? {
        // Nearly every route has a single leg, and thousands are judged in a row: no arrays for it.
        if matched.nexthops.isEmpty {
            let isDead = matched.flags & KernelRoute.Nexthop.deadFlags != 0
            guard !isDead, let link = matched.link, let way = self.ways[link], way.isUsable else { return nil }
            return Choice(
                way: way, gateway: chosen.link == link ? chosen.gateway : matched.gateway, live: 1, total: 1)
        }
        let live = matched.nexthops.filter { !$0.isDead && self.ways[$0.link]?.isUsable ?? false }
        guard let first = live.first else { return nil }
        // The kernel may choose a dead leg of several; a packet on its way there is lost, the next one may not be.
        let isChosenLive = live.contains { $0.link == chosen.link }
        guard let way = self.ways[isChosenLive ? chosen.link ?? first.link : first.link] else { return nil }
        return Choice(
            way: way, gateway: isChosenLive ? chosen.gateway : first.gateway, live: live.count,
            total: matched.nexthops.count)
    }

    private func dead(_ legs: [KernelRoute.Nexthop]) -> Judgement {
        guard let leg = legs.first else { return .failed(.noSuchInterface, deadLink: nil) }
        guard let link = self.surroundings.links[leg.link] else { return .failed(.noSuchInterface, deadLink: leg.link) }
        guard link.kind != .loopback else { return .failed(.noRoute, deadLink: nil) }
        return .failed(link.reason ?? .noCarrier, deadLink: leg.link)
    }

    // MARK: Verdicts

    /// The verdict of a family over its sentinels' judgements.
    func family(_ family: AddressFamily, _ judgements: [Judgement]) -> Verdict {
        var routes: [(path: NetworkPath, notes: [PathWarning])] = []
        var failures: [(reason: UnreachableReason, deadLink: UInt32?)] = []
        for judgement in judgements {
            switch judgement {
            case .routed(let path, let notes, _): routes.append((path, notes))
            case .failed(let reason, let deadLink): failures.append((reason, deadLink))
            case .silent: break
            }
        }
        guard let first = routes.first else {
            // A question without an answer may have been the one that has a route.
            guard failures.count == judgements.count, !failures.isEmpty else { return .unknown }
            // Where sentinels fail differently, a route that leads nowhere says more than no route.
            let telling = failures.first { $0.reason != .noRoute } ?? failures.first
            return self.noDefault(family, telling?.reason ?? .noRoute, deadLink: telling?.deadLink)
        }
        var notes = first.notes
        if routes.count < judgements.count { notes.append(.partial) }
        if routes.contains(where: { $0.path.index != first.path.index || $0.path.gateway != first.path.gateway }) {
            notes.append(.mixedPaths)
        }
        return Verdict(level: .routed, path: first.path, notes: notes)
    }

    private func noDefault(_ family: AddressFamily, _ reason: UnreachableReason, deadLink: UInt32?) -> Verdict {
        let level: ReachabilityLevel = self.surroundings.localFamilies.contains(family) ? .local : .none
        return Verdict(level: level, reason: self.fundamental(reason, family, deadLink: deadLink))
    }

    /// The verdict for one address of a target.
    func address(_ address: IPAddress, _ judgement: Judgement) -> Verdict {
        switch judgement {
        case .routed(let path, let notes, _): return Verdict(level: .routed, path: path, notes: notes)
        case .silent: return .unknown
        case .failed(let reason, let deadLink):
            // For a neighbour on the link, a link-local source is good enough.
            guard !address.isLinkLocal else { return Verdict(level: .none, reason: reason) }
            return Verdict(level: .none, reason: self.fundamental(reason, address.family, deadLink: deadLink))
        }
    }

    /// The best verdict over a target's addresses; the first one where several are as good.
    static func best(_ verdicts: [AddressVerdict]) -> Verdict? {
        verdicts.max { $0.verdict.level < $1.verdict.level }?.verdict
    }

    // The lowest rung that fails explains everything above it.
    private func fundamental(_ reason: UnreachableReason, _ family: AddressFamily, deadLink: UInt32?)
        -> UnreachableReason
    {
        if let reason = self.surroundings.linkReason { return reason }
        if deadLink != nil { return reason }
        return self.surroundings.addressReasons[family] ?? reason
    }
}
