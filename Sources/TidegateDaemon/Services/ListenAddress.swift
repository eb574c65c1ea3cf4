/// Where the endpoint listens: `HOST:PORT`, `[IPV6]:PORT` or `:PORT` for every address.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// The host to bind.
    package let host: String
    /// The port; 0 lets the kernel choose.
    package let port: Int

    /// Where the endpoint listens unless told otherwise.
    package static let standard = ListenAddress(host: "127.0.0.1", port: 9843)

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses the text; the error quotes it.
    package init(parsing text: String) throws(TextError) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw TextError("\"\(text)\" is not an address to listen at: write it as HOST:PORT")
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            throw TextError("\"\(text)\": an IPv6 address stands in brackets: [\(host)]:\(port)")
        }
        self.init(host: host.isEmpty ? "0.0.0.0" : host, port: Int(port))
    }

    /// `HOST:PORT` or `[IPV6]:PORT`.
    package var description: String { self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)" }
}
