internal import TidegateCore
internal import TidegateNetwork

/// Evaluates whether the gateway answers on its link.
enum GatewayRung {
    /// The gateway's rung, from its neighbour entry and the UDP probe.
    ///
    /// It is also ok if a request over this path succeeded recently (`passive`), or if other programs' connections over
    /// it receive answers: a gateway may forward without answering itself.
    static func report(
        _ path: NetworkPath, _ findings: GatewayFindings, passive: PassiveFindings? = nil,
        connections: ConnectionFindings? = nil
    ) -> RungReport {
        let hasNeighbours = findings.resolvesNeighbours && findings.neighbour?.state != .noarp
        guard let gateway = path.gateway, hasNeighbours else {
            let isLocal = hasNeighbours && path.interface != "lo"
            let none = isLocal ? "on the local network: no gateway needed" : "\(path.interface) needs no gateway"
            return .notApplicable(
                .gateway, path.gateway == nil ? none : "\(path.interface) resolves no neighbours (NOARP)")
        }
        let evidence = self.evidence(gateway, path, findings)
        let (status, reason) = self.status(findings, findings.evidence(gateway, on: path.interface))
        var report = RungReport(rung: .gateway, status: status, reason: reason, evidence: evidence)
        if case .answered(let duration)? = findings.answer { report.values.duration = duration }
        if status == .ok, let age = findings.answeredAgo, !findings.hasAnswered { report.values.age = age }
        if status == .ok, findings.answer == nil { report.values.age = findings.neighbour?.confirmedAge }
        if let connections, connections.answering > 0 {
            let text = LadderDescriptions.answering(connections)
            guard status == .ok else { return self.provenWorking(report, by: text) }
            report.evidence.append(text)
        }
        guard status != .ok, let passive else { return report }
        let success = LadderDescriptions.passive(passive, ago: passive.answered)
        return self.provenWorking(report, by: "\(success), through this gateway", age: passive.answered)
    }

    /// The report, changed to ok because traffic came back through the gateway; `text` names the traffic.
    static func provenWorking(_ report: RungReport, by text: String, age: Duration? = nil) -> RungReport {
        guard report.status == .bad || report.status == .unknown else { return report }
        var proven = RungReport(rung: .gateway, status: .ok, basis: .implied, evidence: report.evidence + [text])
        proven.values.age = age
        return proven
    }

    private static func status(
        _ findings: GatewayFindings, _ evidence: SilenceEvidence.Gateway
    ) -> (RungReport.Status, UnreachableReason?) {
        switch evidence {
        case .answers, .confirmed: (.ok, nil)
        case .unresolved(_, link: _, let wasReachable): (.bad, wasReachable ? .gatewaySilent : .gatewayUnresolved)
        case .unconfirmed: (.unknown, nil)
        case .none, .unknown: (findings.isResolved ? .ok : .unknown, nil)
        }
    }

    private static func evidence(_ gateway: IPAddress, _ path: NetworkPath, _ findings: GatewayFindings) -> [String] {
        var evidence: [String] = []
        if let neighbour = findings.neighbour {
            let address = neighbour.linkLayerAddress.map { " lladdr \($0)" } ?? ""
            let state = neighbour.state.rawValue.uppercased()
            evidence.append("neighbour \(gateway) dev \(path.interface)\(address) \(state)")
        } else {
            evidence.append("no neighbour entry for \(gateway) on \(path.interface)")
        }
        if case .answered(let duration?)? = findings.answer, findings.udpProbe != .answered {
            evidence.append("it answered a packet with hop limit 1 in \(duration.shortText)")
        }
        switch findings.udpProbe {
        case .answered: evidence.append("it answered a UDP packet to port 9")
        case .unresolved: evidence.append("its link-layer address is not found: this host itself gave up")
        case .refused(let refusal):
            evidence.append(LadderDescriptions.refusal(refusal, own: path.source, gateway: gateway))
        case .silent where findings.isUnanswered:
            let time = findings.probedAgo.map { " for \($0.shortText)" } ?? ""
            evidence.append("its link-layer address is not found: no host has answered\(time)")
        case .silent:
            let age = findings.isSilentNow ? findings.neighbour?.confirmedAge : nil
            let confirmed = age.map { ", and it was last confirmed \($0.shortText) ago" } ?? ""
            let more = findings.isSilentNow && findings.isResolved ? ", nor were a SYN and an echo request" : ""
            evidence.append("a UDP packet to port 9 was not answered\(more)\(confirmed)")
        case .failed(let code): evidence.append("a UDP packet to port 9 could not be sent (errno \(code))")
        case nil: break
        }
        if let age = findings.answeredAgo, !findings.hasAnswered {
            evidence.append("it answered \(age.shortText) ago, and may limit how often it does")
        }
        if findings.isStuck { evidence.append("it was FAILED before and has not been REACHABLE since") }
        return evidence
    }
}
