internal import TidegateCore
internal import TidegateNetwork

/// Judges whether the gateway, or a target on the link itself, is found there.
enum GatewayRung {
    /// The rung as far as the neighbour table and a poke tell.
    ///
    /// Requests that come through prove a gateway that answers neither.
    static func judge(
        _ path: NetworkPath, _ findings: GatewayFindings, passive: PassiveFindings? = nil
    ) -> RungReport {
        guard let gateway = path.gateway else {
            return RungReport(
                rung: .gateway, status: .notApplicable, evidence: ["\(path.interface) leads there without a gateway"])
        }
        guard findings.resolvesNeighbours, findings.neighbour?.state != .noarp else {
            return RungReport(
                rung: .gateway, status: .notApplicable, evidence: ["\(path.interface) resolves no neighbours (NOARP)"])
        }
        let evidence = self.evidence(gateway, path, findings)
        let (status, reason) = self.status(findings)
        guard status != .ok, let passive else {
            return RungReport(rung: .gateway, status: status, reason: reason, evidence: evidence)
        }
        // A gateway need not answer us as long as it forwards.
        let flow = LadderDescriptions.passive(passive, ago: passive.answered)
        return RungReport(rung: .gateway, status: .ok, evidence: evidence + ["\(flow), through this gateway"])
    }

    /// The same, once traffic has come back through the gateway.
    static func outweighed(_ report: RungReport, by words: String) -> RungReport {
        guard report.status == .bad || report.status == .unknown else { return report }
        return RungReport(rung: .gateway, status: .ok, evidence: report.evidence + [words])
    }

    private static func status(_ findings: GatewayFindings) -> (RungReport.Status, UnreachableReason?) {
        // After FAILED the kernel tries again for ever: INCOMPLETE then is no news.
        let state = findings.neighbour?.state ?? .none
        let silence = findings.wasReachable ? UnreachableReason.gatewaySilent : .gatewayUnresolved
        switch findings.poke {
        case .answered: return (.ok, nil)
        case .unresolved: return (.bad, silence)
        case .refused, .silent, .failed, nil: break
        }
        switch state {
        case .reachable, .permanent, .noarp: return (.ok, nil)
        case .failed: return (.bad, silence)
        case .stale, .delay, .probe: return findings.isStuck ? (.bad, silence) : (.ok, nil)
        case .none, .incomplete: return findings.isStuck ? (.bad, silence) : (.unknown, nil)
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
        switch findings.poke {
        case .answered: evidence.append("it answered a UDP packet to port 9")
        case .unresolved: evidence.append("its link-layer address is not found: this host itself gave up")
        case .refused(let refusal):
            evidence.append(LadderDescriptions.refusal(refusal, own: path.source, gateway: gateway))
        case .silent: evidence.append("a UDP packet to port 9 was not answered")
        case .failed(let code): evidence.append("a UDP packet to port 9 could not be sent (errno \(code))")
        case nil: break
        }
        if findings.isStuck { evidence.append("it was FAILED before and has not been REACHABLE since") }
        return evidence
    }
}

/// Remembers of watched neighbours what their present state does not show any more.
struct NeighbourHistory: Sendable {
    private struct Record: Hashable {
        var isStuck = false
        var wasReachable = false
    }

    private var records: [NeighbourKey: Record] = [:]

    init() {}

    /// Takes a neighbour's state in: FAILED stays until REACHABLE.
    mutating func heard(_ neighbour: KernelNeighbour) {
        switch neighbour.state {
        case .failed: self.records[neighbour.key, default: Record()].isStuck = true
        case .reachable, .permanent, .noarp:
            self.records[neighbour.key] = Record(isStuck: false, wasReachable: true)
        case .none, .incomplete, .stale, .delay, .probe: break
        }
    }

    /// Forgets everybody else.
    mutating func keep(_ keys: Set<NeighbourKey>) { self.records = self.records.filter { keys.contains($0.key) } }

    /// Adds what is remembered.
    func recall(_ key: NeighbourKey, into findings: inout GatewayFindings) {
        guard let record = self.records[key] else { return }
        findings.isStuck = record.isStuck
        findings.wasReachable = record.wasReachable
    }
}
