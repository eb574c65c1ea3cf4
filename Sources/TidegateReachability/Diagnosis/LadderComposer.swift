internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// Composes one family's ladder from the findings of a diagnosis.
struct LadderComposer {
    let findings: LadderFindings
    let family: AddressFamily

    private static let portal = "the captive portal may have answered this"

    /// The ladder: measured rungs, rungs implied by them, and the cause of the failure.
    var ladder: Explanation.Ladder {
        guard let path = self.findings.paths[self.family] else {
            let text = "no path over \(self.family.name) was checked"
            return Explanation.Ladder(family: self.family, rungs: Rung.allCases.map { .unknown($0, [text]) })
        }
        var rungs = self.rungs(path)
        if self.isDiverted(path) {
            rungs = rungs.map {
                $0.rung.order > Rung.dns.order ? .unknown($0.rung, $0.evidence + [LadderComposer.portal]) : $0
            }
            return self.ladder(rungs, .provider(.portal(location: nil)), .internet)
        }
        if let blocked = self.blocked(rungs) {
            rungs = rungs.map { $0.rung == .dns ? blocked.report : $0 }
            return self.ladder(rungs, blocked.cause, .dns)
        }
        let wrong = self.answered(rungs) ?? rungs.first { $0.status == .bad }
        guard let wrong else { return self.internetLadder(rungs, path) }
        let finder = CauseFinder(findings: self.findings, path: path)
        var (cause, rung) = finder.cause(of: wrong)
        if cause == .unknown(.oneCheck), let next = rungs.first(where: { $0.status == .bad && $0.rung != .internet }) {
            (cause, rung) = finder.cause(of: next)
        }
        return self.ladder(rungs, cause, rung)
    }

    // A target that refuses has answered, regardless of internet checks; only a portal could have answered instead of
    // it.
    private func answered(_ rungs: [RungReport]) -> RungReport? {
        let failing = rungs.filter { $0.status == .bad }
        guard failing.first?.rung == .internet, failing.first?.reason != .portal else { return nil }
        return failing.first { $0.rung == .tcp && $0.reason == .refused }
    }

    // For the internet as a whole, a party beyond the gateway must have answered.
    private func internetLadder(_ rungs: [RungReport], _ path: PathFindings) -> Explanation.Ladder {
        guard self.findings.target.isInternet, path.verdict.level >= .routed else {
            return Explanation.Ladder(family: self.family, rungs: rungs)
        }
        let finder = CauseFinder(findings: self.findings, path: path)
        // A router without a route proves only the way to itself, as any router does beside a forwarder that knows no name.
        let isDenied = self.findings.name?.isForwarded ?? false && self.findings.name?.isDenied ?? false
        // A forwarder may answer what it has kept: targets in two networks decide.
        let lost = path.web.filter(\.value.isUnanswered).keys
        let isCutOff = self.findings.name?.isForwarded ?? false && Set(lost.map(\.network)).count > 1
        var cause = finder.silence(.target)
        // Where packets to two networks end at one router, that router proves no more.
        var isEnded = false
        if case .provider(.ends) = cause { isEnded = !(self.findings.name?.isAskedBeyond ?? false) }
        let isProven =
            !isEnded
            && finder.witnesses.contains {
                $0.isEnd || $0.isBeyondGateway && !isDenied && !isCutOff && $0.refusal?.kind != .noRoute
            }
        guard !isProven else {
            let proven = rungs.map { report in
                guard report.rung == .internet, report.status == .unknown else { return report }
                var report = report
                (report.status, report.basis) = (.ok, path.walk == nil ? .implied : .measured)
                if path.walk == nil { report.evidence.append(self.proof(finder.witnesses)) }
                report.evidence.removeAll { InternetRung.gaps.contains($0) }
                return report
            }
            return Explanation.Ladder(family: self.family, rungs: proven)
        }
        if isDenied, !finder.witnesses.isEmpty {
            let (cause, rung) = finder.cause(of: RungReport(rung: .dns, status: .bad, reason: .resolverFailed))
            return self.ladder(rungs, cause, rung)
        }
        // Without them and without a walk, no party beyond the gateway was contacted.
        guard path.walk != nil || isCutOff || finder.shown != nil else {
            return Explanation.Ladder(family: self.family, rungs: rungs)
        }
        if isCutOff, case .onTheWay(.ends(let router?)) = cause { cause = .provider(.ends(after: router)) }
        return self.ladder(rungs, cause, DecisionTable.rung(of: cause, shownBy: .internet))
    }

    private func proof(_ witnesses: [Witness]) -> String {
        let kinds = witnesses.filter(\.isBeyondGateway).map(\.kind)
        if kinds.contains(.resolver) { return "a name server beyond the gateway answers" }
        return kinds.contains(.connection)
            ? "servers beyond the gateway answer other programs" : "a server beyond the gateway answered this program"
    }

    private func rungs(_ path: PathFindings) -> [RungReport] {
        let web = self.web(path)
        var gateway = self.gateway(path, web)
        if path.verdict.notes.contains(.thisHost) {
            gateway = RungReport.notApplicable(.gateway, "the target is this host")
        }
        return [self.monitor] + path.linkRungs(among: self.findings.links)
            + [path.routeRung, gateway, self.names, self.internet(path, web)] + web
    }

    // The failing rung is bad and names the problem first; rungs above it are marked as unchecked.
    private func ladder(_ rungs: [RungReport], _ cause: Cause, _ failing: Rung) -> Explanation.Ladder {
        let marked = rungs.map { report -> RungReport in
            var report = report
            if report.rung == failing {
                (report.status, report.basis) = (.bad, report.basis ?? .measured)
                report.reason = report.reason ?? cause.reason
                if report.evidence.first != cause.description { report.evidence.insert(cause.description, at: 0) }
                report.evidence.removeAll { $0 == LadderDescriptions.unchecked }
            } else if report.status == .unknown, report.evidence == [LadderDescriptions.unchecked],
                report.rung.order > failing.order
            {
                report.evidence = ["not tried: \(failing.rawValue) failed"]
            }
            return report
        }
        return Explanation.Ladder(family: self.family, rungs: marked, cause: cause, failing: failing)
    }

    // MARK: Rungs that combine several findings

    private var monitor: RungReport {
        if let reason = self.findings.unavailableReason {
            return RungReport(rung: .monitor, status: .bad, reason: .monitorDown, evidence: [reason])
        }
        let overruns = self.findings.health.overruns
        let links = self.findings.links.count
        let text = "\(links) link\(links == 1 ? "" : "s") read from the kernel"
        let more = overruns > 0 ? ["the kernel dropped messages \(overruns) time\(overruns == 1 ? "" : "s")"] : []
        return RungReport(rung: .monitor, status: .ok, evidence: [text] + more)
    }

    private func gateway(_ path: PathFindings, _ web: [RungReport]) -> RungReport {
        guard path.verdict.level >= .routed, let networkPath = path.verdict.path else { return .unknown(.gateway) }
        let report = GatewayRung.report(networkPath, path.gateway, passive: path.passive, connections: path.connections)
        // A connection, or an ICMP error from a host behind it, proves that the gateway forwards.
        if web.first?.status == .ok {
            return GatewayRung.provenWorking(report, by: "a connection through it succeeded")
        }
        guard let refusal = path.web[path.subject.address]?.refusal, refusal.offender != nil,
            !refusal.isFrom(networkPath.source), networkPath.gateway != nil
        else { return report }
        return GatewayRung.provenWorking(report, by: "an ICMP error came back through it")
    }

    private var names: RungReport {
        guard let name = self.findings.name else { return .notApplicable(.dns, "the target is an address") }
        if self.findings.target.isInternet { return DNSRung.report(resolvers: name.servers) }
        return DNSRung.report(name, family: self.family, among: self.findings.families)
    }

    // True if a resolver gives a name that does not exist the target's address as well.
    private func isDiverted(_ path: PathFindings) -> Bool {
        self.findings.name?.servers.contains { server in
            guard case .answered(let addresses, _)? = server.unrelated else { return false }
            return addresses.contains(path.subject.address)
        } ?? false
    }

    // A filter's answer instead of an address; it counts if nothing answers at that address.
    private func blocked(_ rungs: [RungReport]) -> (report: RungReport, cause: Cause)? {
        guard let name = self.findings.name, let blocked = name.blocked, rungs.contains(where: { $0.status == .bad })
        else { return nil }
        let finder = CauseFinder(findings: self.findings, path: self.findings.paths[self.family])
        let cause = finder.cause(ofBlocked: name.name, by: blocked.server, answer: blocked.answer)
        let evidence = rungs.first { $0.rung == .dns }?.evidence ?? []
        return (RungReport(rung: .dns, status: .bad, reason: .resolverFailed, evidence: evidence), cause)
    }

    private func internet(_ path: PathFindings, _ web: [RungReport]) -> RungReport {
        guard path.verdict.isUsable else { return .unknown(.internet) }
        var report = InternetRung.report(path.internet, passive: path.passive)
        for case (let place, let walk?) in [
            ("\(path.subject.address)", path.walk), ("the internet", path.sentinelWalk),
        ] {
            if report.values.hops.isEmpty { report.values.hops = walk.values }
            report.evidence.append(walk.evidence(to: place))
        }
        if report.status == .bad, path.subject == .target(path.subject.address),
            path.verdict.isOnLink(path.subject.address)
        {
            return .unknown(.internet, report.evidence + ["it is not on the way to a host of this link"])
        }
        guard report.status == .unknown, web.first?.status == .ok, path.subject.address.isGlobal else { return report }
        return RungReport(
            rung: .internet, status: .ok, basis: .implied, evidence: ["a connection to a public address succeeded"])
    }

    private func web(_ path: PathFindings) -> [RungReport] {
        guard !self.findings.target.isInternet else {
            return [Rung.tcp, .tls, .http].map { .notApplicable($0, "no target was given") }
        }
        guard case .target(let address) = path.subject else {
            return WebRungs.reports(self.findings.target, nil, at: nil, path: nil)
        }
        var rungs = WebRungs.reports(
            self.findings.target, path.web[address], at: address, path: path.verdict.path)
        if let refusal = path.neighbourRefusal, !rungs.isEmpty {
            rungs[0] = RungReport(rung: .tcp, status: .bad, reason: .hostUnreachable, evidence: [])
            rungs[0].values.refusal = refusal
        }
        if !rungs.isEmpty {
            rungs[0].evidence += (path.connections?.toTarget ?? []).flatMap(LadderDescriptions.connections)
        }
        let others = path.web.filter { $0.key != address }.sorted { $0.key.description < $1.key.description }
        if let stage = self.findings.target.lastStage, !rungs.isEmpty {
            rungs[0].evidence += others.map { other, answer in
                let text = WebRungs.failure(answer, stage).map { $0.description } ?? "answers"
                return "its other address \(other): \(text)"
            }
        }
        guard let last = rungs.lastIndex(where: { $0.status != .notApplicable }), rungs[last].status == .ok,
            !self.findings.target.usesTLS, path.verdict.path?.gateway != nil,
            case .portal? = path.internet.map(ConnectivityEvaluator.connectivity)
        else { return rungs }
        rungs[last] = RungReport.unknown(
            rungs[last].rung, rungs[last].evidence + [LadderComposer.portal])
        return rungs
    }
}

extension Cause {
    /// The reason for a rung that fails from this cause and has no reason of its own.
    fileprivate var reason: UnreachableReason? {
        switch self {
        case .router(.silent): .gatewaySilent
        case .router: .gatewayUnresolved
        case .provider(.portal): .portal
        case .provider: .limited
        case .resolver(.silent): .resolverTimeout
        case .resolver: .resolverFailed
        case .thisHost, .onTheWay, .server, .slow, .unknown: nil
        }
    }
}
