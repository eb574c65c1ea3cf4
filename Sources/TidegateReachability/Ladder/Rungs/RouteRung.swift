internal import TidegateCore
internal import TidegateNetwork

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
        // Nothing competes with this host itself; and the kernel keeps main and local in one table as long as it can.
        guard story.matched?.kind != .local else { return lines }
        if let matched = story.matched { lines.append("matched \(self.text(matched, story))") }
        if let refusal = story.refusal { lines.append("refused by \(story.text(refusal))") }
        if let rule = story.rule { lines.append("by rule \(rule)") }
        lines += self.rivals(story)
        lines += self.settings(story, way)
        lines += way.verdict.notes.compactMap(self.words)
        lines += way.unrouted.sorted { $0.key.description < $1.key.description }.map { address, verdict in
            "its other address \(address): \(verdict.reason.map { VerdictDescriptions.phrase($0) } ?? "no route")"
        }
        return lines
    }

    private static func answer(_ story: RouteExplanation, _ way: WayFindings) -> String? {
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

    private static func link(_ index: UInt32, _ story: RouteExplanation) -> String {
        story.names[index] ?? "if\(index)"
    }

    private static func text(_ route: KernelRoute, _ story: RouteExplanation) -> String {
        let destination = story.question.destination
        let length = Int(route.prefixLength)
        guard let prefix = IPPrefix(destination.masked(to: length), length: length) else {
            return "table \(KernelRule.name(ofTable: route.table))"
        }
        return story.text(DefaultRoute(prefix: prefix, route: route))
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

    private static func rivals(_ story: RouteExplanation) -> [String] {
        let others = story.defaults.filter { !self.isMatch($0, story) }
        let lines = others.prefix(self.mostRivals).map { rival in
            "not taken: \(story.text(rival)): \(DefaultRouteComparison.reason(rival, story))"
        }
        let more = others.count - lines.count
        return lines + (more > 0 ? ["and \(more) more default routes"] : [])
    }

    private static func isMatch(_ rival: DefaultRoute, _ story: RouteExplanation) -> Bool {
        guard let matched = story.matched else { return rival == story.refusal }
        return rival.prefix.length == Int(matched.prefixLength) && rival.table == matched.table
            && rival.metric == matched.metric && rival.legs.map(\.link) == matched.legs.map(\.link)
            && rival.legs.map(\.gateway) == matched.legs.map(\.gateway)
    }

    private static func settings(_ story: RouteExplanation, _ way: WayFindings) -> [String] {
        var lines: [String] = []
        let link = story.matched?.link.map { self.link($0, story) }
        if let matched = story.matched, DefaultRouteComparison.isDead(matched), story.ignoresLinkdown == false {
            let name = link ?? "its link"
            lines.append("\(name) is down and the kernel takes the route all the same (ignore_routes_with_linkdown=0)")
        }
        if story.reversePathFilter == 1 {
            lines.append(
                "rp_filter is strict on \(link ?? "the link"): answers that come in by another link are dropped")
        }
        return lines
    }

    private static func words(_ note: PathWarning) -> String? {
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
