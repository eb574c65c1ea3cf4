package import TidegateCore

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
    /// - Throws: An error that quotes the text.
    package init(_ text: String) throws(TextError) {
        guard let colon = text.lastIndex(of: ":") else { throw TextError(notToListenOn: text) }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(digits)
        else { throw TextError(notToListenOn: text) }
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

    private static func host(of part: Substring, in text: String) throws(TextError) -> String {
        if part.isEmpty { return "::" }
        if part.hasPrefix("["), part.hasSuffix("]") {
            let inner = String(part.dropFirst().dropLast())
            guard IPAddress(inner)?.family == .ipv6 else { throw TextError(notToListenOn: text) }
            return inner
        }
        // Without brackets a colon could belong to the address as well as to the port.
        guard !part.contains(":"), (try? Target(String(part))) != nil else { throw TextError(notToListenOn: text) }
        return String(part)
    }
}

extension TextError {
    /// Says that a text is no address to listen on.
    init(notToListenOn text: String) {
        self.init("\"\(text)\" is not an address to listen on: HOST:PORT, [IPV6]:PORT or :PORT")
    }
}
