internal import TidegateCore
internal import TidegateNetwork

/// Explains why the kernel does not take a default route.
enum DefaultRouteComparison {
    /// Why the kernel does not take `alternative`, in one clause.
    static func reason(_ alternative: DefaultRoute, _ explanation: RouteExplanation) -> String {
        if let winner = explanation.matched { return self.reason(alternative, against: winner, explanation) }
        if let refusal = explanation.refusal { return self.behind(alternative, refusal, explanation) }
        if alternative.isDead { return "its link is down" }
        guard self.rank(alternative.table, explanation) != nil else {
            return "no rule leads to \(alternative.tableName)"
        }
        return self.covers(alternative, explanation)
            ? "no rule lets it be used for this packet" : "it covers the other half"
    }

    /// The link of a live default route that a dead one hides, if the kernel could be told to pass over the dead one.
    static func liveAlternative(_ explanation: RouteExplanation) -> String? {
        guard let winner = explanation.matched, winner.isDead, explanation.ignoresLinkdown == false else {
            return nil
        }
        let alternative = explanation.defaults.first { alternative in
            alternative.kind == .unicast && alternative.table == winner.table && !alternative.isDead
                && self.covers(alternative, explanation)
        }
        return alternative?.legs.first.flatMap { explanation.names[$0.link] }
    }
    private static func reason(
        _ alternative: DefaultRoute, against winner: KernelRoute, _ explanation: RouteExplanation
    ) -> String {
        guard self.covers(alternative, explanation) else { return "it covers the other half" }
        if alternative.isDead { return self.dead(alternative, explanation) }
        if alternative.table != winner.table { return self.table(alternative, than: winner.table, explanation) }
        if Int(winner.prefixLength) > alternative.prefix.length {
            return "/\(winner.prefixLength) is the longer prefix"
        }
        guard alternative.metric > winner.metric else { return "the kernel prefers the other one" }
        let text = "metric \(alternative.metric) is higher than \(winner.metric)"
        guard winner.isDead, explanation.ignoresLinkdown == false else { return text }
        return "it is live, but \(text), and the dead route is not passed over (ignore_routes_with_linkdown=0)"
    }

    private static func behind(_ alternative: DefaultRoute, _ refusal: DefaultRoute, _ explanation: RouteExplanation)
        -> String
    {
        if alternative.table != refusal.table { return self.table(alternative, than: refusal.table, explanation) }
        if refusal.prefix.length > alternative.prefix.length { return "/\(refusal.prefix.length) is the longer prefix" }
        return alternative.metric > refusal.metric
            ? "metric \(alternative.metric) is higher than \(refusal.metric)" : "the kernel prefers the other one"
    }

    private static func dead(_ alternative: DefaultRoute, _ explanation: RouteExplanation) -> String {
        // The kernel lists routes that it passes over as dead and linkdown.
        let isListedSo = alternative.legs.allSatisfy { $0.flags & KernelRoute.Nexthop.deadFlags == 0x11 }
        let isSkipped = isListedSo || explanation.ignoresLinkdown == true
        return isSkipped ? "its link is down, so it is passed over (ignore_routes_with_linkdown=1)" : "its link is down"
    }

    private static func table(_ alternative: DefaultRoute, than winner: UInt32, _ explanation: RouteExplanation)
        -> String
    {
        guard let own = self.rank(alternative.table, explanation) else {
            return "no rule leads to \(alternative.tableName)"
        }
        guard let other = explanation.rule ?? explanation.rules.first(where: { $0.table == winner }) else {
            return "table \(KernelRule.name(ofTable: winner)) comes first"
        }
        if own < other.priority { return "rule \(own) does not match this packet, or its table suppresses defaults" }
        return "rule \(other.priority) leads to table \(KernelRule.name(ofTable: winner)) first"
    }

    private static func rank(_ table: UInt32, _ explanation: RouteExplanation) -> UInt32? {
        explanation.rules.first { $0.table == table }?.priority
    }

    private static func covers(_ alternative: DefaultRoute, _ explanation: RouteExplanation) -> Bool {
        alternative.prefix.contains(explanation.question.destination)
    }
}
