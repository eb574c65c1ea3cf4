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
    /// The route that refuses the packet, if one does: prohibit, unreachable, blackhole.
    package var refusal: DefaultRoute?
    /// The neighbour entry of the gateway, or of the destination if there is no gateway.
    package var neighbour: KernelNeighbour?
    /// The name of every link by index.
    package var names: [UInt32: String] = [:]
    /// The stricter of the outgoing link's and the host's rp_filter; nil for IPv6, which has none.
    package var reversePathFilter: Int?
    /// True if the kernel skips routes by the outgoing link while that has no carrier.
    package var ignoresLinkdown: Bool?

    /// The path that a packet would take; nil if there is none.
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

    /// Adds the matched route to the defaults if it is one that no dump contained, such as a routing daemon's.
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
