/// Why something is not reachable: the closed vocabulary of verdicts, JSON (camelCase) and labels (snake_case).
public enum UnreachableReason: String, Sendable, CaseIterable, MetricLabel {
    /// There is no interface besides loopback, or the named one does not exist.
    case noInterface
    /// The interface is administratively down (IFF_UP is clear).
    case adminDown
    /// The link has no carrier (IFF_LOWER_UP is clear).
    case noCarrier
    /// The link waits for an external event, such as 802.1X (operstate dormant).
    case dormant
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
    /// The other side refused the connection.
    case refused
    /// The host, or the way to it, was reported unreachable.
    case hostUnreachable
    /// No answer in time.
    case timeout
    /// TLS failed.
    case tlsFailed
    /// HTTP answered with an error.
    case httpError
    /// The monitor cannot read the kernel.
    case monitorDown
}
