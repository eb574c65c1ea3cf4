internal import TidegateCore
internal import TidegateNetwork

/// Evaluates whether links can carry traffic.
enum LinkEvaluator {
    /// The first reason why a link cannot carry traffic; nil when it can.
    ///
    /// IFF_LOWER_UP falls at once and operstate follows later, so that both have to agree before a link counts as up.
    static func reason(_ link: KernelLink, hasLivePort: Bool) -> UnreachableReason? {
        guard link.isAdminUp else { return .adminDown }
        guard let reason = self.operational(link) else {
            // A bridge without ports shows every sign of being up.
            return self.needsPort(link) && !hasLivePort ? .noCarrier : nil
        }
        return reason
    }

    /// True for masters that carry traffic only through their ports.
    static func needsPort(_ link: KernelLink) -> Bool { link.kind == .bridge || link.kind == .bond }

    /// True when a port can carry its master's traffic.
    static func isLivePort(_ link: KernelLink) -> Bool { link.isAdminUp && self.operational(link) == nil }

    private static func operational(_ link: KernelLink) -> UnreachableReason? {
        switch link.operState {
        case .lowerLayerDown: .lowerLayerDown
        case .notPresent: .noInterface
        case .down: .noCarrier
        case .dormant, .testing: link.hasCarrier ? .dormant : .noCarrier
        case .unknown, .up: link.hasCarrier ? nil : .noCarrier
        }
    }

    /// How close a failing link is to carrying traffic: the higher, the closer.
    static func rung(of reason: UnreachableReason) -> Int {
        switch reason {
        case .noInterface: 0
        case .adminDown: 1
        case .noCarrier: 2
        case .lowerLayerDown: 3
        case .dormant, .flapping: 4
        case .noAddress, .linkLocalOnly, .tentative, .dadFailed, .noRoute, .routeUnreachable, .prohibited, .blackholed,
            .noSourceAddress, .noSuchInterface, .notAHost, .gatewayUnresolved, .gatewaySilent, .resolverNoRoute,
            .resolverTimeout, .resolverFailed, .nameNotFound, .portal, .limited, .refused, .hostUnreachable, .timeout,
            .tlsFailed, .httpError, .monitorDown:
            5
        }
    }
}
