internal import TidegateCore
internal import TidegateNetwork

/// Says why a default route is not the one that the kernel takes.
enum DefaultRouteComparison {
    /// Why `rival` loses, in one clause.
    static func reason(_ rival: DefaultRoute, _ story: RouteExplanation) -> String {
        if let winner = story.matched { return self.reason(rival, against: winner, story) }
        if let refusal = story.refusal { return self.behind(rival, refusal, story) }
        if rival.isDead { return "its link is down" }
        guard self.rank(rival.table, story) != nil else { return "no rule leads to \(rival.tableName)" }
        return self.covers(rival, story) ? "no rule lets it be used for this packet" : "it covers the other half"
    }

    /// The link of a live default that a dead route hides, where the kernel could pass over that.
    static func liveRival(_ story: RouteExplanation) -> String? {
        guard let winner = story.matched, self.isDead(winner), story.ignoresLinkdown == false else { return nil }
        let rival = story.defaults.first { rival in
            rival.kind == .unicast && rival.table == winner.table && !rival.isDead && self.covers(rival, story)
        }
        return rival?.legs.first.flatMap { story.names[$0.link] }
    }

    static func isDead(_ route: KernelRoute) -> Bool { !route.legs.isEmpty && route.legs.allSatisfy(\.isDead) }

    private static func reason(_ rival: DefaultRoute, against winner: KernelRoute, _ story: RouteExplanation) -> String
    {
        guard self.covers(rival, story) else { return "it covers the other half" }
        if rival.isDead { return self.dead(rival, story) }
        if rival.table != winner.table { return self.table(rival, than: winner.table, story) }
        if Int(winner.prefixLength) > rival.prefix.length { return "/\(winner.prefixLength) is the longer prefix" }
        guard rival.metric > winner.metric else { return "the kernel prefers the other one" }
        let words = "metric \(rival.metric) is higher than \(winner.metric)"
        guard self.isDead(winner), story.ignoresLinkdown == false else { return words }
        return "it is live, but \(words), and the dead route is not passed over (ignore_routes_with_linkdown=0)"
    }

    private static func behind(_ rival: DefaultRoute, _ refusal: DefaultRoute, _ story: RouteExplanation) -> String {
        if rival.table != refusal.table { return self.table(rival, than: refusal.table, story) }
        if refusal.prefix.length > rival.prefix.length { return "/\(refusal.prefix.length) is the longer prefix" }
        return rival.metric > refusal.metric
            ? "metric \(rival.metric) is higher than \(refusal.metric)" : "the kernel prefers the other one"
    }

    private static func dead(_ rival: DefaultRoute, _ story: RouteExplanation) -> String {
        // The kernel lists what it passes over as dead besides linkdown.
        let isListedSo = rival.legs.allSatisfy { $0.flags & KernelRoute.Nexthop.deadFlags == 0x11 }
        let isSkipped = isListedSo || story.ignoresLinkdown == true
        return isSkipped ? "its link is down, so it is passed over (ignore_routes_with_linkdown=1)" : "its link is down"
    }

    private static func table(_ rival: DefaultRoute, than winner: UInt32, _ story: RouteExplanation) -> String {
        guard let own = self.rank(rival.table, story) else { return "no rule leads to \(rival.tableName)" }
        guard let other = story.rule ?? story.rules.first(where: { $0.table == winner }) else {
            return "table \(KernelRule.name(ofTable: winner)) comes first"
        }
        if own < other.priority { return "rule \(own) does not match this packet, or its table suppresses defaults" }
        return "rule \(other.priority) leads to table \(KernelRule.name(ofTable: winner)) first"
    }

    private static func rank(_ table: UInt32, _ story: RouteExplanation) -> UInt32? {
        story.rules.first { $0.table == table }?.priority
    }

    private static func covers(_ rival: DefaultRoute, _ story: RouteExplanation) -> Bool {
        let length = rival.prefix.length
        return story.question.destination.masked(to: length) == rival.prefix.address.masked(to: length)
    }
}

extension IPAddress {
    /// The network part of the address, `length` bits of it; the rest is zero.
    func masked(to length: Int) -> IPAddress {
        let octets = self.octets.enumerated().map { position, octet -> UInt8 in
            let bits = min(8, max(0, length - position * 8))
            return octet & (bits == 0 ? 0 : UInt8(truncatingIfNeeded: 0xFF << (8 - bits)))
        }
        return IPAddress(octets: octets) ?? self
    }
}
