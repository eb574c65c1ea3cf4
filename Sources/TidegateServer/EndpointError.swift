/// Why the endpoint cannot listen; every case names the address.
package enum EndpointError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is not `HOST:PORT`.
    case badAddress(String)
    /// Another socket listens on the port (EADDRINUSE).
    case inUse(ListenAddress)
    /// This host does not have the address (EADDRNOTAVAIL).
    case notLocal(ListenAddress)
    /// The port needs a privilege (EACCES).
    case notPermitted(ListenAddress)
    /// The host name has no address.
    case unresolvable(ListenAddress)
    /// Any other error, as the system describes it.
    case failed(ListenAddress, String)

    /// One sentence without a final full stop.
    package var description: String {
        switch self {
        case .badAddress(let text): "\"\(text)\" is not an address to listen on: HOST:PORT, [IPV6]:PORT or :PORT"
        case .inUse(let address): "cannot listen on \(address): the port is in use"
        case .notLocal(let address): "cannot listen on \(address): this host does not have the address"
        case .notPermitted(let address): "cannot listen on \(address): the port needs a privilege"
        case .unresolvable(let address): "cannot listen on \(address): the host name has no address"
        case .failed(let address, let message): "cannot listen on \(address): \(message)"
        }
    }
}
