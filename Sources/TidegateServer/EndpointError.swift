/// Why the endpoint cannot listen; every case names the address.
package enum EndpointError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is not `HOST:PORT`.
    case badAddress(String)
    /// Somebody else listens there (EADDRINUSE).
    case inUse(ListenAddress)
    /// This host has no such address (EADDRNOTAVAIL).
    case notLocal(ListenAddress)
    /// The port needs a privilege (EACCES).
    case notPermitted(ListenAddress)
    /// The host name has no address.
    case unresolvable(ListenAddress)
    /// Anything else, in the system's words.
    case failed(ListenAddress, String)

    /// One sentence without a final full stop.
    package var description: String {
        switch self {
        case .badAddress(let text): "\"\(text)\" is not an address to listen at: HOST:PORT, [IPV6]:PORT or :PORT"
        case .inUse(let address): "cannot listen at \(address): the port is in use"
        case .notLocal(let address): "cannot listen at \(address): this host has no such address"
        case .notPermitted(let address): "cannot listen at \(address): the port is only for privileged users"
        case .unresolvable(let address): "cannot listen at \(address): the host name has no address"
        case .failed(let address, let words): "cannot listen at \(address): \(words)"
        }
    }
}
