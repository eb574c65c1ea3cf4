/// The socket errors that say what failed (errno(3)).
package enum SocketError: String, Sendable, Hashable {
    case refused, networkUnreachable, hostUnreachable, timedOut, reset, addressNotAvailable, prohibited, blackholed,
        lacksInterface, noResources, other

    /// The error of a connection to `host` that this host or the kernel reports, as a clause; nil for silence, a reset
    /// and errors that say nothing.
    package func clause(host: String) -> String? {
        switch self {
        case .refused: "\(host) refused the connection"
        case .networkUnreachable: "this host has no route to \(host)"
        case .hostUnreachable: "\(host) is unreachable"
        case .prohibited: "a rule or a filter of this host forbids \(host)"
        case .blackholed: "a blackhole route of this host discards packets to \(host)"
        case .lacksInterface: "\(host) is a link-local address and needs its interface, as in [fe80::1%25eth0]"
        case .addressNotAvailable: "this host has no source address for \(host)"
        case .noResources: "this process has no descriptor or no memory left for a connection to \(host)"
        case .timedOut, .reset, .other: nil
        }
    }
}
