internal import TidegateCore

/// All that the kernel has to say about where packets to one address go.
package struct RouteExplanation: Sendable, Hashable {
    package var question: RouteQuestion
    package var lookup: RouteLookup
    /// The rule that led to the matched route, or that refused.
    package var rule: KernelRule?
    /// Every rule of the family, in the order in which the kernel tries them.
    package var rules: [KernelRule]
    /// The defaults that compete, in the order of the rules that lead to them, then as the kernel prefers them.
    package var defaults: [DefaultRoute]
    /// The route that refuses the packet, where one does: prohibit, unreachable, blackhole.
    package var refusal: DefaultRoute?
    /// What the link knows of the gateway, or of the destination where there is none.
    package var neighbour: KernelNeighbour?
    /// The name of every link by index.
    package var names: [UInt32: String]
    /// The stricter of the outgoing link's and the host's rp_filter; nil for IPv6, which has none.
    package var reversePathFilter: Int?
    /// True where the kernel passes over routes by the outgoing link while that has no carrier.
    package var ignoresLinkdown: Bool?

    package init(question: RouteQuestion, lookup: RouteLookup) {
        self.question = question
        self.lookup = lookup
        self.rules = []
        self.defaults = []
        self.names = [:]
    }

    /// The way that a packet would take; nil where it would take none.
    package var chosen: KernelRoute? {
        guard case .route = self.lookup.matched, case .route(let route) = self.lookup.chosen else { return nil }
        return route
    }

    /// The route that matched; nil where none did.
    package var matched: KernelRoute? {
        guard case .route(let route) = self.lookup.matched else { return nil }
        return route
    }

    /// A default in iproute2's words, with the names of the links.
    package func text(_ route: DefaultRoute) -> String { route.description { self.names[$0] } }

    /// Adds the matched route to the defaults where it is one that no dump brought: a routing daemon's.
    mutating func include(_ route: KernelRoute) {
        guard route.prefixLength <= 1, let prefix = self.prefix(ofLength: Int(route.prefixLength)) else { return }
        let found = DefaultRoute(prefix: prefix, route: route)
        let isKnown = self.defaults.contains {
            $0.prefix == prefix && $0.table == found.table && $0.metric == found.metric && $0.kind == found.kind
        }
        if !isKnown { self.defaults.append(found) }
    }

    private func prefix(ofLength length: Int) -> IPPrefix? {
        let family = self.question.destination.family
        let isUpper = length == 1 && self.question.destination.octets[0] >= 128
        let octets = [isUpper ? 128 : 0] + [UInt8](repeating: 0, count: family.bits / 8 - 1)
        return IPAddress(octets: octets).flatMap { IPPrefix($0, length: length) }
    }

    /// In the order of the tables; among the routes of one, the kernel's choice first.
    static func sorted(_ routes: [DefaultRoute], by tables: [UInt32]) -> [DefaultRoute] {
        let places = Dictionary(uniqueKeysWithValues: zip(tables, 0...))
        func key(_ route: DefaultRoute) -> (Int, Int, UInt32) {
            (places[route.table] ?? tables.count, -route.prefix.length, route.metric)
        }
        return routes.sorted { key($0) < key($1) }
    }
}
