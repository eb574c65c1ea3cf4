internal import Glibc
internal import TidegateCore

/// Everything the kernel reports about where packets to one address go.
package struct RouteExplanation: Sendable, Hashable {
    package var question: RouteQuestion
    package var lookup: RouteLookup
    /// The rule that led to the matched route, or that refused.
    package var rule: KernelRule?
    /// Every rule of the family, in the order in which the kernel tries them.
    package var rules: [KernelRule] = []
    /// The competing default routes, in the order of the rules that lead to them, then of the kernel's preference.
    package var defaults: [DefaultRoute] = []
    /// Routes to single addresses over a gateway, where packets go into a tunnel: its own packets may take one of them.
    package var hostRoutes: [DefaultRoute] = []
    /// The route that refuses the packet: prohibit, unreachable or blackhole; nil if none does.
    package var refusal: DefaultRoute?
    /// The neighbour entry of the gateway, or of the destination if there is no gateway.
    package var neighbour: KernelNeighbour?
    /// The name of every link by index.
    package var names: [UInt32: String] = [:]
    /// The stricter of the outgoing link's and the host's rp_filter; nil for IPv6, which has none.
    package var reversePathFilter: Int?
    /// The links of default routes at which the kernel drops what other links would answer (rp_filter is 1).
    package var strictLinks: Set<UInt32> = []
    /// True if the kernel skips routes over the outgoing link while that has no carrier.
    package var ignoresLinkdown: Bool?

    /// True if a default route matched, or a half of one.
    package var isDefault: Bool { self.matched.map { $0.prefixLength <= 1 } ?? false }

    /// The default routes that lead out by a link that is up.
    package var liveDefaults: [DefaultRoute] { self.defaults.filter { $0.kind == .unicast && !$0.isDead } }

    /// True if the kernel drops what answers over a link that packets do not leave by.
    package func dropsAnswers(over link: String) -> Bool { self.strictLinks.contains { self.names[$0] == link } }

    /// The path that a packet would take; nil if there is no path.
    package var chosen: KernelRoute? {
        guard case .route = self.lookup.matched, case .route(let route) = self.lookup.chosen else { return nil }
        return route
    }

    /// The route that matched; nil if none did.
    package var matched: KernelRoute? {
        guard case .route(let route) = self.lookup.matched else { return nil }
        return route
    }

    /// A default route as iproute2 prints it, with the names of the links.
    package func text(_ route: DefaultRoute) -> String { route.description { self.names[$0] } }

    /// Adds the matched route to the defaults if no dump contained it, such as a routing daemon's.
    mutating func include(_ route: KernelRoute) {
        guard route.prefixLength <= 1,
            let prefix = IPPrefix(around: self.question.destination, length: Int(route.prefixLength))
        else { return }
        let found = DefaultRoute(prefix: prefix, route: route)
        let isKnown = self.defaults.contains {
            $0.prefix == prefix && $0.table == found.table && $0.metric == found.metric && $0.kind == found.kind
        }
        if !isKnown { self.defaults.append(found) }
    }

    /// In the order of the tables; within a table in the kernel's order of preference.
    static func sorted(_ routes: [DefaultRoute], by tables: [UInt32]) -> [DefaultRoute] {
        let places = Dictionary(uniqueKeysWithValues: zip(tables, 0...))
        func key(_ route: DefaultRoute) -> (Int, Int, UInt32) {
            (places[route.table] ?? tables.count, -route.prefix.length, route.metric)
        }
        return routes.sorted { key($0) < key($1) }
    }
}

/// Collects the details that `explain` shows beyond the verdict; read on demand, never kept.
struct RouteExplainer {
    // The creators of default routes (RTPROT_* in linux/rtnetlink.h): kernel, boot, static, dhcp, keepalived, and
    // advertisements (ra) for IPv6. 0 would mean any, which returns the whole table. A routing daemon's default is
    // found as the matched route.
    private static let protocols: [AddressFamily: [UInt8]] = [.ipv4: [2, 3, 4, 16, 18], .ipv6: [2, 3, 4, 16, 18, 9]]
    // RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT.
    private static let refusingTypes: [Int32: UInt8] = [22: 6, 113: 7, 13: 8]
    // A list of more tables than this would not help a reader.
    private static let tableLimit = 64

    let query: QueryChannel
    let tables: KernelTables

    /// Adds rules, competing routes, the neighbour and the settings of the outgoing link.
    func complete(_ explanation: inout RouteExplanation) throws(QueryFailure) {
        try self.addRules(to: &explanation)
        try self.addLink(to: &explanation)
    }

    private func addRules(to explanation: inout RouteExplanation) throws(QueryFailure) {
        let family = explanation.question.destination.family
        explanation.rules = try self.query.rules(family)
        let evaluation = RuleEvaluation(of: self.packet(explanation.question), through: explanation.rules)
        let tables = self.tablesNamed(by: explanation.rules, evaluation)
        explanation.defaults = try self.routes(family, tables, longest: 1)
        switch explanation.lookup.matched {
        case .route(let route):
            explanation.rule = evaluation.rule(to: route.table, prefixLength: route.prefixLength)
            explanation.include(route)
            if let link = route.link, self.tables.link(link)?.kind == .tunnel {
                explanation.hostRoutes = try self.routes(family, tables, longest: UInt8(family.bits)).filter {
                    $0.prefix.length == family.bits && $0.kind == .unicast && $0.legs.first?.gateway != nil
                }
            }
        case .refused(let code, _):
            var refusing: [DefaultRoute] = []
            if let type = RouteExplainer.refusingTypes[code] {
                for table in tables {
                    refusing += try self.query.routes(family, RouteFilter(table: table, type: type), longest: 128)
                }
            }
            (explanation.rule, explanation.refusal) = evaluation.refusal(errno: code, among: refusing)
        case .none: break
        }
        explanation.defaults = RouteExplanation.sorted(explanation.defaults, by: tables)
    }

    private func packet(_ question: RouteQuestion) -> RuleEvaluation.Packet {
        var packet = RuleEvaluation.Packet(destination: question.destination, uid: question.uid ?? getuid())
        packet.mark = question.mark ?? 0
        packet.port = question.port
        packet.ipProtocol = question.port == nil ? nil : question.ipProtocol
        packet.loopbackName = self.tables.link(1)?.name ?? "lo"
        let zone = question.destination.zone
        if let link = (question.link ?? (zone == 0 ? nil : zone)).flatMap({ self.tables.link($0) }) {
            packet.outputName = link.name
            packet.l3Table = link.vrfTable ?? link.master.flatMap { self.tables.link($0)?.vrfTable }
        }
        return packet
    }

    private func tablesNamed(by rules: [KernelRule], _ evaluation: RuleEvaluation) -> [UInt32] {
        let named = rules.compactMap { evaluation.table(of: $0) ?? $0.table }.filter { $0 != 0 }
        let tables: [UInt32] = named.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        return Array(tables.prefix(RouteExplainer.tableLimit))
    }

    private func routes(
        _ family: AddressFamily, _ tables: [UInt32], longest: UInt8
    ) throws(QueryFailure) -> [DefaultRoute] {
        var routes: [DefaultRoute] = []
        for table in tables {
            for number in RouteExplainer.protocols[family] ?? [] {
                routes += try self.query.routes(
                    family, RouteFilter(table: table, routeProtocol: number), longest: longest)
            }
        }
        return routes
    }

    private func addLink(to explanation: inout RouteExplanation) throws(QueryFailure) {
        let route = explanation.chosen ?? explanation.matched
        guard let route, let link = route.link, route.kind == .unicast else { return }
        let family = explanation.question.destination.family
        explanation.neighbour = try self.query.neighbour(
            NeighbourKey(route.gateway ?? explanation.question.destination, on: link))
        let own = try self.query.settings(family, of: Int32(clamping: link))
        explanation.ignoresLinkdown = own?.ignoresLinkdown
        // For IPv4, both the link's setting and the one for all links count; for IPv6, only the link's.
        guard family == .ipv4, let own else { return }
        let all = try self.query.settings(family, of: -1)
        if all?.ignoresLinkdown ?? false { explanation.ignoresLinkdown = true }
        explanation.reversePathFilter = own.reversePathFilter.map { max($0, all?.reversePathFilter ?? 0) }
        for other in Set(explanation.liveDefaults.flatMap(\.legs).map(\.link)).prefix(RouteExplainer.tableLimit) {
            let setting = try self.query.settings(family, of: Int32(clamping: other))?.reversePathFilter ?? 0
            if max(setting, all?.reversePathFilter ?? 0) == 1 { explanation.strictLinks.insert(other) }
        }
    }
}
