internal import TidegateCore
internal import TidegateNetwork

/// Reduces lookups to verdicts; a pure function of its inputs.
struct VerdictReducer {
    /// The link data that thousands of lookups need.
    private typealias LinkPath = (path: NetworkPath, isUsable: Bool, isTunnel: Bool)

    /// The leg of a route that packets take.
    private typealias Leg = (link: LinkPath, gateway: IPAddress?, live: Int, total: Int)

    let snapshot: NetworkSnapshot
    private let paths: [UInt32: LinkPath]
    private let loopback: Link?

    /// Creates a reducer for this snapshot; `meteredLinks` are those that the configuration names as metered.
    init(_ snapshot: NetworkSnapshot, meteredLinks: Set<UInt32> = []) {
        self.snapshot = snapshot
        self.loopback = snapshot.links.values.first { $0.kind == .loopback }
        self.paths = snapshot.links.mapValues { link in
            let path = NetworkPath(
                interface: link.name, index: link.index, generation: link.generation,
                metered: snapshot.metered(link, configured: meteredLinks))
            return (path, snapshot.isUsable(link.index), link.kind == .tunnel)
        }
    }

    /// The names of the links over which traffic may cost money.
    var costlyLinks: Set<String> {
        Set(self.paths.values.lazy.map(\.path).filter(\.metered.isCostly).map(\.interface))
    }

    // MARK: One lookup

    /// Evaluates the kernel's two answers about a destination.
    func evaluate(_ lookup: RouteLookup, of destination: IPAddress) -> LookupResult {
        switch (lookup.matched, lookup.chosen) {
        case (.none, _), (_, .none): .silent
        case (.refused(let code, let hasText), _), (.route, .refused(let code, let hasText)):
            UnreachableReason(lookupErrno: code, hasText: hasText, family: destination.family)
                .map { .failed($0, deadLink: nil) } ?? .silent
        case (.route(let matched), .route(let chosen)):
            switch matched.kind {
            case .local: self.thisHost(chosen)
            case .broadcast, .multicast, .anycast: .failed(.notAHost, deadLink: nil)
            case .unicast: self.evaluate(VerdictReducer.completed(matched, chosen), chosen, to: destination)
            case .blackhole: .failed(.blackholed, deadLink: nil)
            case .unreachable: .failed(.routeUnreachable, deadLink: nil)
            case .prohibit: .failed(.prohibited, deadLink: nil)
            default: .failed(.noRoute, deadLink: nil)
            }
        }
    }

    private func thisHost(_ chosen: KernelRoute) -> LookupResult {
        let path = NetworkPath(
            interface: self.loopback?.name ?? "lo", index: self.loopback?.index ?? 1,
            generation: self.loopback?.generation ?? 0,
            source: chosen.source, table: chosen.table, metered: .guessNo)
        return .routed(path, notes: [.thisHost], expiresIn: nil)
    }

    // With nexthop_compat_mode 0, a route via a nexthop object names only the object; the chosen route has link and
    // gateway.
    private static func completed(_ matched: KernelRoute, _ chosen: KernelRoute) -> KernelRoute {
        guard matched.link == nil, matched.nexthops.isEmpty else { return matched }
        var matched = matched
        (matched.link, matched.gateway) = (chosen.link, chosen.gateway)
        return matched
    }

    private func evaluate(_ matched: KernelRoute, _ chosen: KernelRoute, to destination: IPAddress) -> LookupResult {
        guard let leg = self.choose(matched, chosen) else { return self.dead(matched.legs) }
        guard let source = chosen.source, let quality = self.snapshot.sources[source.withoutZone],
            !quality.isLinkLocal || destination.isLinkLocal
        else { return .failed(.noSourceAddress, deadLink: nil) }
        var path = leg.link.path
        path.gateway = leg.gateway
        path.source = source
        path.table = matched.table
        var notes: [PathWarning] = []
        if leg.live < leg.total {
            notes.append(.degradedMultipath(live: leg.live, total: leg.total))
        }
        if quality.isDeprecated { notes.append(.deprecatedOnly) }
        if source.isUniqueLocal, !destination.isUniqueLocal { notes.append(.uniqueLocalSource) }
        if leg.link.isTunnel { notes.append(.tunnel) }
        return .routed(path, notes: notes, expiresIn: matched.expiresIn)
    }

    private func choose(_ matched: KernelRoute, _ chosen: KernelRoute) -> Leg? {
        // Nearly every route has a single leg, and thousands are evaluated in a row, so this avoids arrays.
        if matched.nexthops.isEmpty {
            let isDead = matched.flags & KernelRoute.Nexthop.deadFlags != 0
            guard !isDead, let index = matched.link, let link = self.paths[index], link.isUsable else { return nil }
            return (link, chosen.link == index ? chosen.gateway : matched.gateway, 1, 1)
        }
        let live = matched.nexthops.filter { !$0.isDead && self.paths[$0.link]?.isUsable ?? false }
        guard let first = live.first else { return nil }
        // The kernel may choose a dead leg of several; the next packet may take a live one.
        let isChosenLive = live.contains { $0.link == chosen.link }
        guard let link = self.paths[isChosenLive ? chosen.link ?? first.link : first.link] else { return nil }
        return (link, isChosenLive ? chosen.gateway : first.gateway, live.count, matched.nexthops.count)
    }

    private func dead(_ legs: [KernelRoute.Nexthop]) -> LookupResult {
        guard let leg = legs.first else { return .failed(.noSuchInterface, deadLink: nil) }
        guard let link = self.snapshot.links[leg.link] else { return .failed(.noSuchInterface, deadLink: leg.link) }
        guard link.kind != .loopback else { return .failed(.noRoute, deadLink: nil) }
        return .failed(link.reason ?? .noCarrier, deadLink: leg.link)
    }

    // MARK: Verdicts

    /// The verdict of a family over its sentinels' results.
    func family(_ family: AddressFamily, _ results: [LookupResult]) -> Verdict {
        var routes: [(path: NetworkPath, notes: [PathWarning])] = []
        var failures: [(reason: UnreachableReason, deadLink: UInt32?)] = []
        for result in results {
            switch result {
            case .routed(let path, let notes, _): routes.append((path, notes))
            case .failed(let reason, let deadLink): failures.append((reason, deadLink))
            case .silent: break
            }
        }
        guard let first = routes.first else {
            // A lookup without an answer may be the one with a route.
            guard failures.count == results.count, !failures.isEmpty else { return .unknown }
            // If sentinels fail differently, an unusable route is more informative than no route.
            let failure = failures.first { $0.reason != .noRoute } ?? failures.first
            let reason = self.fundamental(failure?.reason ?? .noRoute, family, deadLink: failure?.deadLink)
            return Verdict(level: self.snapshot.localFamilies.contains(family) ? .local : .none, reason: reason)
        }
        var notes = first.notes
        if routes.count < results.count { notes.append(.partial) }
        if routes.contains(where: { $0.path.index != first.path.index || $0.path.gateway != first.path.gateway }) {
            notes.append(.mixedPaths)
        }
        return Verdict(level: .routed, path: first.path, notes: notes)
    }

    /// The verdict for one address of a target.
    func address(_ address: IPAddress, _ result: LookupResult) -> Verdict {
        switch result {
        case .routed(let path, let notes, _): return Verdict(level: .routed, path: path, notes: notes)
        case .silent: return .unknown
        case .failed(let reason, let deadLink):
            // A neighbour on the link is reachable from a link-local source, even if the family lacks an address or a
            // route.
            guard !address.isLinkLocal else { return Verdict(level: .none, reason: reason) }
            return Verdict(level: .none, reason: self.fundamental(reason, address.family, deadLink: deadLink))
        }
    }

    /// The best verdict over a target's addresses; the first of several equal ones.
    static func best(_ verdicts: [AddressVerdict]) -> Verdict? {
        verdicts.max { $0.verdict.level < $1.verdict.level }?.verdict
    }

    // The lowest failing rung explains everything above it.
    private func fundamental(_ reason: UnreachableReason, _ family: AddressFamily, deadLink: UInt32?)
        -> UnreachableReason
    {
        if let reason = self.snapshot.linkReason { return reason }
        if deadLink != nil { return reason }
        let found = self.snapshot.addressReasons[family] ?? reason
        return [.noRoute, .noAddress, .linkLocalOnly].contains(found) ? self.snapshot.mediumReason ?? found : found
    }
}

/// The meaning of one route lookup.
enum LookupResult: Hashable {
    /// A packet would be sent now.
    case routed(NetworkPath, notes: [PathWarning], expiresIn: Duration?)
    /// A packet would not be sent; `deadLink` is the unusable link of a matching route.
    case failed(UnreachableReason, deadLink: UInt32?)
    /// The kernel did not answer.
    case silent
}

extension UnreachableReason {
    /// The reason for a refused lookup (errno(3)); nil if the error says nothing about the network.
    init?(lookupErrno code: Int32, hasText: Bool, family: AddressFamily) {
        switch code {
        // EPERM, ENOSYS, EOPNOTSUPP: a sandbox that blocks lookups, or a kernel built without IPv6.
        case 1, 38, 95:
            guard family == .ipv6 else { return nil }
            self = .noRoute
        // ENETUNREACH; ESRCH, EAFNOSUPPORT and ENETDOWN mean that something is missing or just being removed.
        case 3, 97, 100, 101: self = .noRoute
        case 99: self = .noSourceAddress
        case 113: self = .routeUnreachable
        case 13: self = .prohibited
        case 22:
            // The kernel explains invalid requests in text, but not a blackhole.
            guard !hasText else { return nil }
            self = .blackholed
        case 19: self = .noSuchInterface
        // ENOMEM, ENOBUFS, EBUSY…: a shortage in the kernel, which shuts no gate.
        default: return nil
        }
    }
}

extension Verdict {
    /// True if a packet would be sent, or if the kernel cannot be read.
    var isUsable: Bool { self.level >= .routed || self.level == .unknown }
}
