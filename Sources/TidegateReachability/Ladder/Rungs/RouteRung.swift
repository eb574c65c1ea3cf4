internal import TidegateModel
internal import TidegateNetlink

/// Judges the way that the kernel would send a packet, and says what else competed for it.
enum RouteRung {
    /// The rung for a way; what lies below it fails where the reason is one of theirs.
    static func judge(_ way: WayFindings) -> RungReport {
        let reason = way.verdict.level < .routed ? way.verdict.reason : nil
        let evidence = self.evidence(way)
        if let reason, reason.rung == .route {
            return RungReport(rung: .route, status: .bad, reason: reason, evidence: evidence)
        }
        if reason != nil { return self.unclimbed(evidence) }
        guard way.verdict.level != .unknown else { return self.unclimbed(evidence) }
        return RungReport(rung: .route, status: .ok, evidence: evidence)
    }

    // What the kernel said costs nothing to tell, even where a lower rung fails already.
    private static func unclimbed(_ evidence: [String]) -> RungReport {
        RungReport(rung: .route, status: .unknown, evidence: evidence.isEmpty ? ["not climbed"] : evidence)
    }

    private static func evidence(_ way: WayFindings) -> [String] {
        guard let story = way.story else { return [] }
        var lines = [self.answer(story, way)].compactMap(\.self)
        if let matched = story.matched, matched.kind != .local { lines.append("matched \(self.text(matched, story))") }
        if let refusal = story.refusal { lines.append("refused by \(story.text(refusal))") }
        if let rule = story.rule { lines.append("by rule \(rule)") }
        lines += self.rivals(story)
        lines += self.settings(story, way)
        lines += way.verdict.notes.compactMap(self.words)
        return lines
    }

    private static func answer(_ story: RouteStory, _ way: WayFindings) -> String? {
        let destination = self.subject(way.subject)
        switch (story.lookup.matched, story.lookup.chosen) {
        case (.none, _), (_, .none): return "the kernel did not answer about \(destination)"
        case (.refused(let code, _), _), (.route, .refused(let code, _)):
            return "\(destination): the kernel refuses (\(self.name(ofError: code)))"
        case (.route(let matched), .route(let chosen)):
            if matched.kind == .local { return "\(destination) is an address of this host" }
            let gateway = chosen.gateway.map { " via \($0)" } ?? ""
            let link = chosen.link.map { " dev \(self.link($0, story))" } ?? ""
            let source = chosen.source.map { " src \($0)" } ?? ""
            return "\(destination)\(gateway)\(link)\(source)"
        }
    }

    private static func subject(_ subject: WayFindings.Subject) -> String {
        switch subject {
        case .target(let address): "\(address)"
        case .resolver(let address): "resolver \(address)"
        case .sentinel(let address): "the internet (\(address))"
        }
    }

    private static func link(_ index: UInt32, _ story: RouteStory) -> String { story.names[index] ?? "if\(index)" }

    private static func text(_ route: KernelRoute, _ story: RouteStory) -> String {
        let destination = story.question.destination
        let prefix = IPPrefix(destination.masked(to: Int(route.prefixLength)), length: Int(route.prefixLength))
        return prefix.map { story.text(KernelDefault(prefix: $0, route: route)) } ?? "table \(route.table)"
    }

    // The error numbers of a refused lookup (errno(3)).
    private static func name(ofError code: Int32) -> String {
        switch code {
        case 3: "ESRCH"
        case 13: "EACCES: prohibited"
        case 19: "ENODEV: no such interface"
        case 22: "EINVAL: a blackhole"
        case 97: "EAFNOSUPPORT: no such family here"
        case 99: "EADDRNOTAVAIL: no source address"
        case 100: "ENETDOWN: network down"
        case 101: "ENETUNREACH: no route"
        case 113: "EHOSTUNREACH: unreachable"
        default: "errno \(code)"
        }
    }

    // MARK: What else competes

    private static let mostRivals = 6

    private static func rivals(_ story: RouteStory) -> [String] {
        let others = story.defaults.filter { !self.isMatch($0, story) }
        let lines = others.prefix(self.mostRivals).map { rival in
            "not taken: \(story.text(rival)): \(Rivalry.reason(rival, story))"
        }
        let more = others.count - lines.count
        return lines + (more > 0 ? ["and \(more) more default routes"] : [])
    }

    private static func isMatch(_ rival: KernelDefault, _ story: RouteStory) -> Bool {
        guard let matched = story.matched else { return rival == story.refusal }
        return rival.prefix.length == Int(matched.prefixLength) && rival.table == matched.table
            && rival.metric == matched.metric && rival.legs.map(\.link) == matched.legs.map(\.link)
            && rival.legs.map(\.gateway) == matched.legs.map(\.gateway)
    }

    private static func settings(_ story: RouteStory, _ way: WayFindings) -> [String] {
        var lines: [String] = []
        let link = story.matched?.link.map { self.link($0, story) }
        if let matched = story.matched, Rivalry.isDead(matched), story.ignoresLinkdown == false {
            lines.append(
                "\(link ?? "its link") is down and the kernel takes the route all the same (ignore_routes_with_linkdown=0)"
            )
        }
        if story.reversePathFilter == 1 {
            lines.append(
                "rp_filter is strict on \(link ?? "the link"): answers that come in by another link are dropped")
        }
        return lines
    }

    private static func words(_ note: PathNote) -> String? {
        switch note {
        case .degradedMultipath(let live, let total): "only \(live) of \(total) nexthops can be used"
        case .tunnel: "the path leads through a tunnel"
        case .deadPreferredDefault: "a dead default route hides a live one"
        case .mixedPaths: "different parts of the internet are reached by different ways"
        case .partial: "only a part of the internet has a route"
        case .deprecatedOnly, .uniqueLocalSource, .thisHost: nil
        }
    }
}

/// Says why a default route is not the one that the kernel takes.
enum Rivalry {
    /// Why `rival` loses, in one clause.
    static func reason(_ rival: KernelDefault, _ story: RouteStory) -> String {
        if let winner = story.matched { return self.reason(rival, against: winner, story) }
        if let refusal = story.refusal { return self.behind(rival, refusal, story) }
        if rival.isDead { return "its link is down" }
        guard self.rank(rival.table, story) != nil else { return "no rule leads to table \(rival.table)" }
        return self.covers(rival, story) ? "no rule lets it be used for this packet" : "it covers the other half"
    }

    static func isDead(_ route: KernelRoute) -> Bool { !route.legs.isEmpty && route.legs.allSatisfy(\.isDead) }

    private static func reason(_ rival: KernelDefault, against winner: KernelRoute, _ story: RouteStory) -> String {
        guard self.covers(rival, story) else { return "it covers the other half" }
        if rival.isDead { return self.dead(rival, story) }
        if rival.table != winner.table { return self.table(rival, than: winner.table, story) }
        if Int(winner.prefixLength) > rival.prefix.length { return "/\(winner.prefixLength) is the longer prefix" }
        guard rival.metric > winner.metric else { return "the kernel prefers the other one" }
        let words = "metric \(rival.metric) is higher than \(winner.metric)"
        guard self.isDead(winner), story.ignoresLinkdown == false else { return words }
        return "it is live, but \(words), and the dead route is not passed over (ignore_routes_with_linkdown=0)"
    }

    private static func behind(_ rival: KernelDefault, _ refusal: KernelDefault, _ story: RouteStory) -> String {
        if rival.table != refusal.table { return self.table(rival, than: refusal.table, story) }
        if refusal.prefix.length > rival.prefix.length { return "/\(refusal.prefix.length) is the longer prefix" }
        return rival.metric > refusal.metric
            ? "metric \(rival.metric) is higher than \(refusal.metric)" : "the kernel prefers the other one"
    }

    private static func dead(_ rival: KernelDefault, _ story: RouteStory) -> String {
        let isSkipped = story.ignoresLinkdown == true
        return isSkipped ? "its link is down, so it is passed over (ignore_routes_with_linkdown=1)" : "its link is down"
    }

    private static func table(_ rival: KernelDefault, than winner: UInt32, _ story: RouteStory) -> String {
        guard let own = self.rank(rival.table, story) else { return "no rule leads to table \(rival.table)" }
        guard let other = story.rule ?? story.rules.first(where: { $0.table == winner }) else {
            return "table \(winner) comes first"
        }
        if own < other.priority { return "rule \(own) does not match this packet, or its table suppresses defaults" }
        return "rule \(other.priority) leads to table \(KernelRule.name(ofTable: winner)) first"
    }

    private static func rank(_ table: UInt32, _ story: RouteStory) -> UInt32? {
        story.rules.first { $0.table == table }?.priority
    }

    private static func covers(_ rival: KernelDefault, _ story: RouteStory) -> Bool {
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
