internal import TidegateCore

/// Which hosts a listener answers for.
///
/// A page of another site whose name was made to lead here (DNS rebinding) sends its own name: an address or `localhost`
/// cannot be such a name.
struct HostCheck: Sendable {
    private let isActive: Bool
    private let allowed: Set<String>

    /// The check of a listener at this address: names other than the allowed ones are refused on a loopback address, and
    /// elsewhere if there are allowed ones.
    init(listen: ListenAddress, allowed: [String]) {
        self.isActive = listen.isLoopback || !allowed.isEmpty
        self.allowed = Set(allowed.map { Self.name((try? Target($0).host) ?? $0) })
    }

    /// True if a request with this `Host` is answered; the port does not count.
    func admits(_ host: String) -> Bool {
        guard self.isActive else { return true }
        let name = Self.name(Self.withoutPort(host))
        // Linux takes the unspecified address for loopback, and browsers do not take it for a local one.
        let isAddress = IPAddress(name).map { !$0.isUnspecified } ?? false
        return name == "localhost" || isAddress || self.allowed.contains(name)
    }

    private static func withoutPort(_ host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    // Names are equal in either case, and with a full stop at their end.
    private static func name(_ text: String) -> String {
        let name = text.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}
