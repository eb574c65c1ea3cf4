internal import TidegateCore

/// Where something is on the web: the parts of an http or https URL that a rung needs (RFC 3986).
struct WebLocation: Sendable, Hashable {
    enum Scheme: String, Sendable {
        case http, https

        var port: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    let scheme: Scheme
    /// Host and port; the port is always there.
    let target: Target
    /// Path and query, from the slash.
    let path: String

    /// Parses `http://HOST[:PORT][/PATH][?QUERY]`; nil where `text` is no http or https URL at all.
    ///
    /// User information and fragment are left out.
    /// - Throws: ``TargetError``, where the host or port is wrong.
    init?(_ text: String, zone: (String) -> UInt32? = { UInt32($0) }) throws(TargetError) {
        guard let mark = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased()),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return nil }
        let rest = text[mark.upperBound...].prefix { $0 != "#" }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let target = try Target(String(host), zone: zone)
        self.scheme = scheme
        self.target = target.port == nil ? try Target("\(host):\(scheme.port)", zone: zone) : target
        self.path = rest[end...].first == "/" ? String(rest[end...]) : "/\(rest[end...])"
    }

    init(scheme: Scheme, target: Target, path: String = "/") {
        self.scheme = scheme
        self.target = target
        self.path = path
    }

    /// The URL as it is requested.
    var url: String {
        // A zone means something to this host alone (RFC 9844).
        let address = self.target.address.map { $0.family == .ipv6 ? "[\($0.withoutZone)]" : "\($0)" }
        let host = address ?? self.target.host
        let port = self.target.port.flatMap { $0 == self.scheme.port ? nil : ":\($0)" } ?? ""
        return "\(self.scheme.rawValue)://\(host)\(port)\(self.path)"
    }
}
