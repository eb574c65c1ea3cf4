internal import TidegateCore
internal import TidegateNetwork

extension Uplink.State {
    /// The state that follows from the answers of the gateway, if there is one, and of hosts on the internet.
    init(_ answers: [EchoClient.Result], from gateway: IPAddress?) {
        func isAnswer(_ answer: EchoClient.Result) -> Bool { if case .answered = answer { true } else { false } }
        // A router that knows no way answers as well.
        let isRefused = answers.contains {
            if case .refused(let error) = $0 { error.isFrom(gateway) } else { false }
        }
        let isSent = answers.contains { if case .failed = $0 { false } else { true } }
        if answers.dropFirst(gateway == nil ? 0 : 1).contains(where: isAnswer) {
            self = .works
        } else {
            self = answers.contains(where: isAnswer) || isRefused ? .provider : isSent ? .silent : .unknown
        }
    }
}

extension RouteExplanation {
    /// The links that default routes lead out by, those in use first, each with its first next hop.
    ///
    /// None if packets take a tunnel: what left beside it would leave in clear.
    func uplinks(_ verdict: Verdict, links: [Link]) -> [Uplink] {
        guard verdict.path != nil, !verdict.notes.contains(.tunnel), self.isDefault, let matched else { return [] }
        // A route by a nexthop object may name only the object.
        let own = matched.legs.isEmpty ? self.chosen?.legs ?? [] : matched.legs
        // Without ignore_routes_with_linkdown the kernel sends part of the packets to a link without a carrier.
        let used = Set(own.filter { !$0.isDead || $0.flags & 1 == 0 && self.ignoresLinkdown != true }.map(\.link))
        let legs = own + self.defaults.filter { $0.kind == .unicast }.flatMap(\.legs)
        var found: [Uplink] = []
        for leg in legs {
            guard let link = links.first(where: { $0.index == leg.link }), ![.tunnel, .loopback].contains(link.kind),
                !link.isExcluded, !found.contains(where: { $0.interface == link.name })
            else { continue }
            let role: Uplink.Role = !used.contains(leg.link) ? .standby : used.count > 1 ? .member : .used
            var uplink = Uplink(link.name, leg.gateway, self.question.destination.family, role)
            if leg.isDead || !link.isUsable { uplink.state = .down }
            found.append(uplink)
        }
        return found
    }
}
