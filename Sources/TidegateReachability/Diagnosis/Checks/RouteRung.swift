internal import TidegateCore
internal import TidegateNetwork

/// Evaluates the route that the kernel takes, and describes the routes that it does not take.
enum RouteRung {
    /// The rung for a path; if the reason belongs to a lower rung, this one was not checked.
    static func report(_ findings: PathFindings) -> RungReport {
        let reason = findings.verdict.level < .routed ? findings.verdict.reason : nil
        let evidence = self.evidence(findings)
        if let reason, reason.rung == .route {
            return RungReport(rung: .route, status: .bad, reason: reason, evidence: evidence)
        }
        if reason != nil { return self.notChecked(evidence) }
        guard findings.verdict.level != .unknown else { return self.notChecked(evidence) }
        return RungReport(rung: .route, status: .ok, evidence: evidence)
    }

    // The kernel's answer is known even if a lower rung fails.
    private static func notChecked(_ evidence: [String]) -> RungReport {
        RungReport(rung: .route, status: .unknown, evidence: evidence.isEmpty ? ["not checked"] : evidence)
    }

    private static func evidence(_ findings: PathFindings) -> [String] {
        guard let explanation = findings.explanation else { return [] }
        var lines = [self.answer(explanation, findings)].compactMap(\.self)
        // No route competes with this host itself; the kernel keeps main and local in one table as long as it can.
        guard explanation.matched?.kind != .local else { return lines }
        if let matched = explanation.matched { lines.append("matched \(self.text(matched, explanation))") }
        if let refusal = explanation.refusal { lines.append("refused by \(explanation.text(refusal))") }
        if let rule = explanation.rule { lines.append("by rule \(rule)") }
        lines += self.alternatives(explanation)
        lines += self.settings(explanation, findings)
        lines += findings.verdict.notes.filter(self.isAboutRoutes).map(\.description)
        lines += findings.unrouted.sorted { $0.key.description < $1.key.description }.map { address, verdict in
            "its other address \(address): \(verdict.reason.map { $0.description } ?? "no route")"
        }
        return lines
    }

    private static func answer(_ explanation: RouteExplanation, _ findings: PathFindings) -> String? {
        let destination = self.subject(findings.subject)
        switch (explanation.lookup.matched, explanation.lookup.chosen) {
        case (.none, _), (_, .none): return "the kernel did not answer about \(destination)"
        case (.refused(let code, _), _), (.route, .refused(let code, _)):
            return "\(destination): the kernel refuses (\(self.name(ofError: code)))"
        case (.route(let matched), .route(let chosen)):
            if matched.kind == .local { return "\(destination) is an address of this host" }
            let gateway = chosen.gateway.map { " via \($0)" } ?? ""
            let link = chosen.link.map { " dev \(self.link($0, explanation))" } ?? ""
            let source = chosen.source.map { " src \($0)" } ?? ""
            return "\(destination)\(gateway)\(link)\(source)"
        }
    }

    private static func subject(_ subject: PathFindings.Subject) -> String {
        switch subject {
        case .target(let address): "\(address)"
        case .resolver(let address): "resolver \(address)"
        case .sentinel(let address): "the internet (\(address))"
        }
    }

    private static func link(_ index: UInt32, _ explanation: RouteExplanation) -> String {
        explanation.names[index] ?? "if\(index)"
    }

    private static func text(_ route: KernelRoute, _ explanation: RouteExplanation) -> String {
        guard let prefix = IPPrefix(around: explanation.question.destination, length: Int(route.prefixLength)) else {
            return "table \(KernelRule.name(ofTable: route.table))"
        }
        return explanation.text(DefaultRoute(prefix: prefix, route: route))
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

    private static let alternativeLimit = 6

    private static func alternatives(_ explanation: RouteExplanation) -> [String] {
        let others = explanation.defaults.filter { !self.isMatch($0, explanation) }
        let lines = others.prefix(self.alternativeLimit).map { alternative in
            "not taken: \(explanation.text(alternative)): \(DefaultRouteComparison.reason(alternative, explanation))"
        }
        let more = others.count - lines.count
        return lines + (more > 0 ? ["and \(more) more default routes"] : [])
    }

    private static func isMatch(_ alternative: DefaultRoute, _ explanation: RouteExplanation) -> Bool {
        guard let matched = explanation.matched else { return alternative == explanation.refusal }
        return alternative.prefix.length == Int(matched.prefixLength) && alternative.table == matched.table
            && alternative.metric == matched.metric && alternative.legs.map(\.link) == matched.legs.map(\.link)
            && alternative.legs.map(\.gateway) == matched.legs.map(\.gateway)
    }

    private static func settings(_ explanation: RouteExplanation, _ findings: PathFindings) -> [String] {
        var lines: [String] = []
        let link = explanation.matched?.link.map { self.link($0, explanation) }
        if let matched = explanation.matched, matched.isDead,
            explanation.ignoresLinkdown == false
        {
            let name = link ?? "its link"
            lines.append("\(name) is down and the kernel takes the route all the same (ignore_routes_with_linkdown=0)")
        }
        if explanation.reversePathFilter == 1 {
            lines.append(
                "rp_filter is strict on \(link ?? "the link"): answers that come in by another link are dropped")
        }
        return lines
    }

    // The others are about addresses.
    private static func isAboutRoutes(_ note: PathWarning) -> Bool {
        switch note {
        case .degradedMultipath, .tunnel, .deadPreferredDefault, .mixedPaths, .partial: true
        case .deprecatedOnly, .uniqueLocalSource, .thisHost: false
        }
    }
}
