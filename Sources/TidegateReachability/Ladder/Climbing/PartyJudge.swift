internal import TidegateModel

/// Says whose failure a rung's is.
enum PartyJudge {
    /// The party behind a failed rung.
    ///
    /// - Parameter isNameWrong: A resolver that works says that the name does not exist.
    static func party(of report: RungReport, _ way: WayFindings?, isNameWrong: Bool) -> Party {
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
        case .refused: return self.refused(way)
        case .tlsFailed: return .theirs
        case .hostUnreachable: return self.unreachable(way)
        case .timeout: return report.rung == .tcp ? self.silent(way) : .theirs
        case .httpError: return self.status(way?.web[way?.subject.address ?? IPAddress(ipv4: 0)]?.status)
        }
    }

    private static func answer(_ way: WayFindings?) -> WebAnswer? { way.flatMap { $0.web[$0.subject.address] } }

    // This host's own filter refuses with an ICMP error from its own address; a server without any.
    private static func refused(_ way: WayFindings?) -> Party {
        guard let refusal = self.answer(way)?.refusal else { return .theirs }
        return self.isOwn(refusal, way) ? .mine : .theirs
    }

    private static func isOwn(_ refusal: NetworkRefusal, _ way: WayFindings?) -> Bool {
        refusal.offender == nil || refusal.isFrom(self.answer(way)?.local) || refusal.isFrom(way?.verdict.path?.source)
    }

    // The table of measured errors: who speaks, and what is said.
    private static func unreachable(_ way: WayFindings?) -> Party {
        guard let refusal = self.answer(way)?.refusal else { return .path }
        let gateway = way?.verdict.path?.gateway
        if self.isOwn(refusal, way) {
            switch refusal.meaning {
            case .prohibited, .portUnreachable: return .mine
            // Without a gateway the host itself is the neighbour that is not found.
            case .hostUnreachable, .noRoute, .timeExceeded, .other: return gateway == nil ? .theirs : .gateway
            }
        }
        switch refusal.meaning {
        case .noRoute: return refusal.isFrom(gateway) ? .upstream : .path
        case .hostUnreachable, .portUnreachable: return .theirs
        case .prohibited: return refusal.isFrom(gateway) ? .gateway : .path
        case .timeExceeded, .other: return .path
        }
    }

    // Silence says nothing by itself; an internet that works otherwise puts it beyond the way out.
    private static func silent(_ way: WayFindings?) -> Party {
        guard let way else { return .unknown }
        let isInternetGood = way.internet.map(ConnectivityJudge.connectivity) == .full
        return isInternetGood || way.passive?.internet != nil ? .path : .unknown
    }

    private static func status(_ status: Int?) -> Party {
        guard let status, (400..<500).contains(status), status != 408, status != 429 else { return .theirs }
        return .mine
    }
}
