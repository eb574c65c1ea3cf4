internal import TidegateCore

/// A host name or an address, with a port, to listen on.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name, or an address without brackets.
    package let host: String
    /// The port; with 0 the kernel chooses a free one.
    package let port: Int
}

extension ListenAddress {
    /// The default: port 9843 of the loopback address.
    package static let standard = ListenAddress(host: "127.0.0.1", port: 9843)

    /// Parses `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, which means every local address.
    ///
    /// - Throws: ``EndpointError/badAddress(_:)``, which quotes the text.
    package init(_ text: String) throws(EndpointError) {
        guard let colon = text.lastIndex(of: ":") else { throw .badAddress(text) }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits)
        else { throw .badAddress(text) }
        self.port = Int(port)
        self.host = try ListenAddress.host(of: text[..<colon], in: text)
    }

    /// `HOST:PORT` or `[IPV6]:PORT`.
    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }

    /// True if only programs of this host can connect.
    package var isLoopback: Bool { self.host == "localhost" || IPAddress(self.host)?.isLoopback ?? false }

    /// The URL of the status page for a browser on this host.
    package func page(isEncrypted: Bool) -> String {
        // No browser connects to the address that stands for all of them.
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][self.host] ?? self.host
        return "\(isEncrypted ? "https" : "http")://\(ListenAddress(host: host, port: self.port).description)/"
    }

    private static func host(of part: Substring, in text: String) throws(EndpointError) -> String {
        if part.isEmpty { return "::" }
        if part.hasPrefix("["), part.hasSuffix("]") {
            let inner = String(part.dropFirst().dropLast())
            guard IPAddress(inner)?.family == .ipv6 else { throw .badAddress(text) }
            return inner
        }
        // Without brackets a colon could belong to the address as well as to the port.
        guard !part.contains(":"), (try? Target(String(part))) != nil else { throw .badAddress(text) }
        return String(part)
    }
}

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
