internal import TidegateCore

/// Classifies whose failure it is that a rung fails.
enum PartyClassifier {
    /// The party behind a failed rung.
    ///
    /// - Parameter isNameWrong: True if a resolver that works says that the name does not exist.
    static func party(of report: RungReport, _ path: PathFindings?, isNameWrong: Bool) -> FaultParty {
        guard let reason = report.reason else { return .unknown }
        switch reason {
        case .monitorDown, .noInterface, .adminDown, .noCarrier, .dormant, .lowerLayerDown, .noAddress,
            .linkLocalOnly, .tentative, .dadFailed, .noRoute, .routeUnreachable, .prohibited, .blackholed,
            .noSourceAddress, .noSuchInterface, .notAHost, .resolverNoRoute, .gatewayUnresolved, .gatewaySilent,
            .resolverTimeout, .resolverFailed, .portal, .limited, .tlsFailed:
            return reason.party
        case .nameNotFound: return isNameWrong ? reason.party : .resolver
        case .refused, .hostUnreachable: return self.sender(path) ?? reason.party
        case .timeout: return report.rung == .tcp ? self.unanswered(path) : .theirs
        case .httpError: return self.status(path?.web[path?.subject.address ?? IPAddress(ipv4: 0)]?.status)
        }
    }

    private static func answer(_ path: PathFindings?) -> HTTPCheck.Result? {
        path.flatMap { $0.web[$0.subject.address] }
    }

    // The sender of an ICMP error is classified as for a failed transfer, by the same table.
    private static func sender(_ path: PathFindings?) -> FaultParty? {
        guard let path, let answer = self.answer(path), let refusal = answer.refusal else { return nil }
        let evidence = FailureEvidence(
            failure: .connectFailed, stage: .connect, socketError: answer.socketError, refusal: refusal,
            peer: path.subject.address, local: answer.local, before: path.verdict, after: path.verdict,
            peers: PeerHistory.Evidence(reached: self.isInternetGood(path) ? 1 : 0))
        return FaultClassifier.attribution(of: evidence)?.party
    }

    // Silence alone says nothing; if the internet works otherwise, it is lost on the path.
    private static func unanswered(_ path: PathFindings?) -> FaultParty {
        guard let path else { return .unknown }
        return self.isInternetGood(path) ? .path : .unknown
    }

    private static func isInternetGood(_ path: PathFindings) -> Bool {
        path.internet.map(ConnectivityEvaluator.connectivity) == .full || path.passive?.internet != nil
    }

    private static func status(_ status: Int?) -> FaultParty {
        guard let status, (400..<500).contains(status), status != 408, status != 429 else { return .theirs }
        return .mine
    }
}
