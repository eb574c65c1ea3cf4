/// Scheme, host and port (RFC 6454): what shares connections, limits, budgets and credentials.
///
/// A reference whose hash is computed once, because an attempt looks several tables up by it.
package final class Origin: Sendable, Hashable, CustomStringConvertible {
    package let scheme: HTTPURL.Scheme
    /// Host and port.
    package let target: Target
    private let hash: Int

    package init(scheme: HTTPURL.Scheme, target: Target) {
        self.scheme = scheme
        self.target = target
        var hasher = Hasher()
        hasher.combine(scheme)
        hasher.combine(target)
        self.hash = hasher.finalize()
    }

    package static func == (left: Origin, right: Origin) -> Bool {
        left === right || (left.hash == right.hash && left.scheme == right.scheme && left.target == right.target)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.hash) }

    /// HOST or HOST:PORT as the Host field has it: without the scheme's own port.
    package var authority: String {
        self.withoutDefaultPort(self.target.encoded, self.target.host)
    }

    /// The same for display.
    package var shownAuthority: String { self.withoutDefaultPort(self.target.description, self.target.shownHost) }

    private func withoutDefaultPort(_ target: String, _ host: String) -> String {
        guard self.target.port == self.scheme.port else { return target }
        return self.target.address?.family == .ipv6 ? "[\(host)]" : host
    }

    /// `https://HOST:PORT`; the port is always present.
    package var description: String { "\(self.scheme.rawValue)://\(self.target)" }
}
