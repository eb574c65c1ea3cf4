internal import TidegateCore
internal import TidegateNetwork

extension PathFindings {
    /// The rung of the route; if the reason belongs to a lower rung, this one was not checked.
    var routeRung: RungReport {
        let reason = self.verdict.level < .routed ? self.verdict.reason : nil
        let evidence = self.routeEvidence
        if let reason, reason.rung == .route {
            return RungReport(rung: .route, status: .bad, reason: reason, evidence: evidence)
        }
        // The kernel's answer is known even if a lower rung fails.
        guard reason == nil, self.verdict.level != .unknown else {
            return .unknown(.route, evidence.isEmpty ? [LadderDescriptions.unchecked] : evidence)
        }
        return RungReport(rung: .route, status: .ok, evidence: evidence)
    }

    private var routeEvidence: [String] {
        guard let explanation = self.explanation else { return [] }
        var lines = [explanation.answer(about: self.subject.text)]
        // No route competes with an address of this host; the kernel keeps main and local in one table as long as it
        // can.
        guard explanation.matched?.kind != .local else { return lines }
        if let matched = explanation.matched { lines.append("matched \(explanation.text(matched))") }
        if let refusal = explanation.refusal { lines.append("refused by \(explanation.text(refusal))") }
        if let rule = explanation.rule { lines.append("by rule \(rule)") }
        lines += explanation.alternatives + explanation.settings
        lines += self.verdict.notes.filter(\.isAboutRoutes).map(\.description)
        lines += self.unrouted.sorted { $0.key.description < $1.key.description }.map { address, verdict in
            "its other address \(address): \(verdict.reason.map { $0.description } ?? "no route")"
        }
        return lines
    }
}

extension PathFindings.Subject {
    fileprivate var text: String {
        switch self {
        case .target(let address): "\(address)"
        case .resolver(let address): "resolver \(address)"
        case .sentinel(let address): "the internet (\(address))"
        }
    }
}

extension PathWarning {
    // The others are about addresses.
    fileprivate var isAboutRoutes: Bool {
        switch self {
        case .degradedMultipath, .tunnel, .deadPreferredDefault, .mixedPaths, .partial: true
        case .deprecatedOnly, .uniqueLocalSource, .thisHost: false
        }
    }
}

extension RouteExplanation {
    private static let alternativeLimit = 6

    fileprivate func answer(about destination: String) -> String {
        switch (self.lookup.matched, self.lookup.chosen) {
        case (.none, _), (_, .none): return "the kernel did not answer about \(destination)"
        case (.refused(let code, _), _), (.route, .refused(let code, _)):
            return "\(destination): the kernel refuses (\(RouteExplanation.name(ofError: code)))"
        case (.route(let matched), .route(let chosen)):
            if matched.kind == .local { return "\(destination) is an address of this host" }
            let gateway = chosen.gateway.map { " via \($0)" } ?? ""
            let link = chosen.link.map { " dev \(self.name(ofLink: $0))" } ?? ""
            let source = chosen.source.map { " src \($0)" } ?? ""
            return "\(destination)\(gateway)\(link)\(source)"
        }
    }

    private func name(ofLink index: UInt32) -> String { self.names[index] ?? "if\(index)" }

    fileprivate func text(_ route: KernelRoute) -> String {
        guard let prefix = IPPrefix(around: self.question.destination, length: Int(route.prefixLength)) else {
            return "table \(KernelRule.name(ofTable: route.table))"
        }
        return self.text(DefaultRoute(prefix: prefix, route: route))
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

    fileprivate var settings: [String] {
        var lines: [String] = []
        let link = self.matched?.link.map { self.name(ofLink: $0) }
        if self.hidesLiveRoutes {
            let name = link ?? "its link"
            lines.append("\(name) is down but the kernel uses the route anyway (ignore_routes_with_linkdown=0)")
        }
        if self.reversePathFilter == 1 {
            lines.append(
                "rp_filter is strict on \(link ?? "the link"): answers that come in by another link are dropped")
        }
        return lines
    }

    // MARK: Competing routes

    fileprivate var alternatives: [String] {
        let others = self.defaults.filter { !self.isMatch($0) }
        let lines = others.prefix(RouteExplanation.alternativeLimit).map {
            "not taken: \(self.text($0)): \(self.reason(against: $0))"
        }
        let more = others.count - lines.count
        return lines + (more > 0 ? ["and \(more) more default routes"] : [])
    }

    private func isMatch(_ alternative: DefaultRoute) -> Bool {
        guard let matched = self.matched else { return alternative == self.refusal }
        return alternative.prefix.length == Int(matched.prefixLength) && alternative.table == matched.table
            && alternative.metric == matched.metric && alternative.legs.map(\.link) == matched.legs.map(\.link)
            && alternative.legs.map(\.gateway) == matched.legs.map(\.gateway)
    }

    /// Why the kernel does not take `alternative`, in one clause.
    func reason(against alternative: DefaultRoute) -> String {
        if self.matched == nil, let refusal = self.refusal {
            return self.preference(refusal.table, refusal.prefix.length, refusal.metric, over: alternative)
        }
        guard let winner = self.matched else {
            if alternative.isDead { return "its link is down" }
            guard self.rank(alternative.table) != nil else { return "no rule leads to \(alternative.tableName)" }
            return self.covers(alternative) ? "no rule lets it be used for this packet" : "it covers the other half"
        }
        guard self.covers(alternative) else { return "it covers the other half" }
        if alternative.isDead { return self.text(ofDead: alternative) }
        let length = Int(winner.prefixLength)
        let text = self.preference(winner.table, length, winner.metric, over: alternative)
        guard self.hidesLiveRoutes, alternative.table == winner.table, alternative.prefix.length >= length,
            alternative.metric > winner.metric
        else { return text }
        return "it is live, but \(text), and the dead route is not passed over (ignore_routes_with_linkdown=0)"
    }

    private func preference(
        _ table: UInt32, _ length: Int, _ metric: UInt32, over alternative: DefaultRoute
    ) -> String {
        if alternative.table != table { return self.text(ofTable: alternative, than: table) }
        if length > alternative.prefix.length { return "/\(length) is the longer prefix" }
        return alternative.metric > metric
            ? "metric \(alternative.metric) is higher than \(metric)" : "the kernel prefers the other one"
    }

    /// The link of a live default route that a dead one hides, if the kernel could be configured to skip the dead one.
    ///
    /// The kernel marks routes as dead up to a second after their link loses its carrier.
    func liveAlternative(_ reason: UnreachableReason) -> String? {
        guard let winner = self.matched, self.ignoresLinkdown == false, winner.isDead || reason == .noCarrier else {
            return nil
        }
        let alternative = self.defaults.first { alternative in
            alternative.kind == .unicast && alternative.table == winner.table && !alternative.isDead
                && alternative.legs.first?.link != winner.link && self.covers(alternative)
        }
        return alternative?.legs.first.flatMap { self.names[$0.link] }
    }

    // The kernel uses a dead route, but could be configured to skip it.
    private var hidesLiveRoutes: Bool { self.matched?.isDead == true && self.ignoresLinkdown == false }

    private func text(ofDead alternative: DefaultRoute) -> String {
        // The kernel marks the routes that it skips as dead and linkdown.
        let isListedSo = alternative.legs.allSatisfy { $0.flags & KernelRoute.Nexthop.deadFlags == 0x11 }
        let isSkipped = isListedSo || self.ignoresLinkdown == true
        return isSkipped ? "its link is down, so it is passed over (ignore_routes_with_linkdown=1)" : "its link is down"
    }

    private func text(ofTable alternative: DefaultRoute, than winner: UInt32) -> String {
        guard let own = self.rank(alternative.table) else { return "no rule leads to \(alternative.tableName)" }
        guard let other = self.rule ?? self.rules.first(where: { $0.table == winner }) else {
            return "table \(KernelRule.name(ofTable: winner)) comes first"
        }
        if own < other.priority { return "rule \(own) does not match this packet, or its table suppresses defaults" }
        return "rule \(other.priority) leads to table \(KernelRule.name(ofTable: winner)) first"
    }

    private func rank(_ table: UInt32) -> UInt32? { self.rules.first { $0.table == table }?.priority }

    private func covers(_ alternative: DefaultRoute) -> Bool {
        alternative.prefix.contains(self.question.destination)
    }
}
