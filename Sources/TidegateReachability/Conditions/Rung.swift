public import TidegateModel

/// The steps from this host to an answer, in order; each rests on those before it.
public enum Rung: String, Sendable, CaseIterable, Hashable {
    case monitor, interface, carrier, address, route, gateway, dns, internet, tcp, tls, http

    /// The rung that fails with a reason.
    public init(failing reason: Unreachable) {
        self =
            switch reason {
            case .monitorDown: .monitor
            case .noInterface, .adminDown, .noSuchInterface: .interface
            case .noCarrier, .dormant, .lowerLayerDown: .carrier
            case .noAddress, .linkLocalOnly, .tentative, .dadFailed, .noSourceAddress: .address
            case .noRoute, .routeUnreachable, .prohibited, .blackholed, .notAHost: .route
            case .gatewayUnresolved, .gatewaySilent: .gateway
            case .resolverNoRoute, .resolverTimeout, .resolverFailed, .nameNotFound: .dns
            case .portal, .limited: .internet
            case .refused, .hostUnreachable, .timeout: .tcp
            case .tlsFailed: .tls
            case .httpError: .http
            }
    }
}
