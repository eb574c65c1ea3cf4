internal import TidegateCore

/// Says whose failure a rung's is.
enum PartyClassifier {
    /// The party behind a failed rung.
    ///
    /// - Parameter isNameWrong: A resolver that works says that the name does not exist.
    static func party(of report: RungReport, _ way: WayFindings?, isNameWrong: Bool) -> FaultParty {
        guard let reason = report.reason else { return .unknown }
        switch reason {
        case .monitorDown, .noInterface, .adminDown, .noCarrier, .dormant, .lowerLayerDown, .noAddress,
            .linkLocalOnly, .tentative, .dadFailed, .noRoute, .routeUnreachable, .prohibited, .blackholed,
            .noSourceAddress, .noSuchInterface, .notAHost, .resolverNoRoute:
            return .mine
        case .gatewayUnresolved, .gatewaySilent: return .gateway
        case .resolverTimeout, .resolverFailed: return .resolver
        case .nameNotFound: return isNameWrong ? .theirs : .resolver
        case .portal, .limited: return .upstream
        case .refused: return self.speaker(way) ?? .theirs
        case .tlsFailed: return .theirs
        case .hostUnreachable: return self.speaker(way) ?? .path
        case .timeout: return report.rung == .tcp ? self.silent(way) : .theirs
        case .httpError: return self.status(way?.web[way?.subject.address ?? IPAddress(ipv4: 0)]?.status)
        }
    }

    private static func answer(_ way: WayFindings?) -> HTTPCheck.Result? { way.flatMap { $0.web[$0.subject.address] } }

    // Whoever sent an ICMP error is judged as for a failed transfer: there is one table of them.
    private static func speaker(_ way: WayFindings?) -> FaultParty? {
        guard let way, let answer = self.answer(way), let refusal = answer.refusal else { return nil }
        let evidence = FailureEvidence(
            failure: .connectFailed, stage: .connect, socketError: answer.socketError, refusal: refusal,
            peer: way.subject.address, local: answer.local, before: way.verdict, after: way.verdict,
            peers: PeerHistory.Evidence(reached: self.isInternetGood(way) ? 1 : 0))
        return Attribution.judge(evidence)?.party
    }

    // Silence says nothing by itself; an internet that works otherwise puts it beyond the way out.
    private static func silent(_ way: WayFindings?) -> FaultParty {
        guard let way else { return .unknown }
        return self.isInternetGood(way) ? .path : .unknown
    }

    private static func isInternetGood(_ way: WayFindings) -> Bool {
        way.internet.map(ConnectivityEvaluator.connectivity) == .full || way.passive?.internet != nil
    }

    private static func status(_ status: Int?) -> FaultParty {
        guard let status, (400..<500).contains(status), status != 408, status != 429 else { return .theirs }
        return .mine
    }
}
