/// The party that is responsible for a failure.
public enum FaultParty: String, Sendable, MetricLabel, CustomStringConvertible {
    /// This host: its links, addresses, routes, disk or the request itself.
    case mine
    /// The gateway on this host's link.
    case gateway
    /// The network behind the gateway.
    case upstream
    /// The name resolvers.
    case resolver
    /// Somewhere on the way.
    case path
    /// The server.
    case theirs
    /// The evidence does not say.
    case unknown

    /// True for what every request of this host needs: its links, router, provider and resolvers.
    package var isThisSide: Bool { [.mine, .gateway, .upstream, .resolver].contains(self) }

    /// The party's name in output for people: `your router`.
    public var description: String {
        switch self {
        case .mine: "this host"
        case .gateway: "your router"
        case .upstream: "your provider"
        case .resolver: "the resolver"
        case .path: "on the way"
        case .theirs: "the server"
        case .unknown: "not known"
        }
    }
}
