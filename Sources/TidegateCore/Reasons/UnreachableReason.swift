/// Why something is not reachable: the closed vocabulary of verdicts, JSON (camelCase) and labels (snake_case).
public enum UnreachableReason: String, Sendable, CaseIterable, MetricLabel, CustomStringConvertible {
    /// There is no interface besides loopback, or the named one does not exist.
    case noInterface
    /// The interface is administratively down (IFF_UP is clear).
    case adminDown
    /// The link has no carrier (IFF_LOWER_UP is clear).
    case noCarrier
    /// The link waits for an external event, such as 802.1X (operstate dormant).
    case dormant
    /// The link loses its carrier so often that the monitor waits until it lasts.
    case flapping
    /// The link below this one is down (operstate lowerlayerdown).
    case lowerLayerDown
    /// No address of the family.
    case noAddress
    /// Only link-local addresses.
    case linkLocalOnly
    /// Only addresses still in duplicate address detection.
    case tentative
    /// Duplicate address detection found another owner.
    case dadFailed
    /// No route matches (ENETUNREACH).
    case noRoute
    /// An `unreachable` route matches (EHOSTUNREACH).
    case routeUnreachable
    /// A `prohibit` route or rule matches (EACCES).
    case prohibited
    /// A `blackhole` route or rule matches (EINVAL).
    case blackholed
    /// A route matches, but no usable source address goes with it.
    case noSourceAddress
    /// The route names an interface that does not exist (ENODEV).
    case noSuchInterface
    /// The destination is a broadcast, multicast or anycast address.
    case notAHost
    /// The gateway's link-layer address is not known.
    case gatewayUnresolved
    /// The gateway does not answer.
    case gatewaySilent
    /// No resolver has a route.
    case resolverNoRoute
    /// No resolver answered in time.
    case resolverTimeout
    /// A resolver answered with a failure.
    case resolverFailed
    /// The name does not exist.
    case nameNotFound
    /// A captive portal answers.
    case portal
    /// Internet checks fail.
    case limited
    /// The server refused the connection.
    case refused
    /// The host, or the path to it, was reported unreachable.
    case hostUnreachable
    /// No answer in time.
    case timeout
    /// TLS failed.
    case tlsFailed
    /// HTTP answered with an error.
    case httpError
    /// The monitor cannot read the kernel.
    case monitorDown

    // MARK: Class and party

    /// The rung of the ladder that this reason belongs to.
    package var rung: Rung {
        switch self {
        case .monitorDown: .monitor
        case .noInterface, .adminDown, .noSuchInterface: .interface
        case .noCarrier, .dormant, .flapping, .lowerLayerDown: .carrier
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

    /// The responsible party, unless further evidence says otherwise.
    package var party: FaultParty {
        switch self {
        case .monitorDown, .noInterface, .adminDown, .noSuchInterface, .noCarrier, .dormant, .flapping, .lowerLayerDown,
            .noAddress, .linkLocalOnly, .tentative, .dadFailed, .noSourceAddress, .noRoute, .routeUnreachable,
            .prohibited, .blackholed, .notAHost, .resolverNoRoute, .nameNotFound:
            .mine
        case .gatewayUnresolved, .gatewaySilent: .gateway
        case .resolverTimeout, .resolverFailed: .resolver
        case .portal, .limited: .upstream
        case .hostUnreachable: .path
        case .refused, .tlsFailed, .httpError: .theirs
        case .timeout: .unknown
        }
    }

    // MARK: Text

    /// The reason as a clause, about no link in particular: `the link has no carrier`.
    public var description: String { self.description(ofLink: nil) }

    /// The reason as a clause without a full stop; `link` is the name of the link that it is about, if it is about one.
    package func description(ofLink link: String?) -> String {
        let subject = link ?? "the link"
        return switch self {
        case .noInterface: "there is no interface"
        case .adminDown: "\(subject) is switched off"
        case .noCarrier: "\(subject) has no carrier"
        case .dormant: "\(subject) waits to be authorised"
        case .flapping: "\(subject) keeps losing its carrier"
        case .lowerLayerDown: "the link below \(subject) is down"
        case .noAddress: "no address"
        case .linkLocalOnly: "only link-local addresses"
        case .tentative: "the address is still being checked for duplicates"
        case .dadFailed: "another host has the same address"
        case .noRoute: "no route"
        case .routeUnreachable: "the route says unreachable"
        case .prohibited: "a route or rule prohibits it"
        case .blackholed: "the route is a blackhole"
        case .noSourceAddress: "no usable source address"
        case .noSuchInterface: "the route leads to an interface that is gone"
        case .notAHost: "the address is not a host's"
        case .gatewayUnresolved: "the gateway is not found on the link"
        case .gatewaySilent: "the gateway does not answer"
        case .resolverNoRoute: "no route to any resolver"
        case .resolverTimeout: "no resolver answered in time"
        case .resolverFailed: "the resolver failed"
        case .nameNotFound: "the name does not exist"
        case .portal: "a captive portal answers"
        case .limited: "internet checks fail"
        case .refused: "the connection was refused"
        case .hostUnreachable: "the host is unreachable"
        case .timeout: "no answer in time"
        case .tlsFailed: "TLS failed"
        case .httpError: "the answer was an HTTP error"
        case .monitorDown: "the kernel's network state cannot be read"
        }
    }
}

/// A step of the ladder from the monitor itself to HTTP.
public enum Rung: String, Sendable, MetricLabel {
    case monitor, interface, carrier, address, route, gateway, dns, internet, tcp, tls, http

    /// True if the kernel determines it, without a packet.
    package var isOfKernel: Bool { [.monitor, .interface, .carrier, .address, .route].contains(self) }
}
