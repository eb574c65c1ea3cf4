/// Something worth knowing about a verdict that does not change its level.
public enum PathWarning: Sendable, Hashable, CustomStringConvertible {
    /// Only `live` of `total` nexthops can be used.
    case degradedMultipath(live: Int, total: Int)
    /// The only source addresses are deprecated.
    case deprecatedOnly
    /// The source address is a unique local one (fc00::/7).
    case uniqueLocalSource
    /// Different sentinels leave by different paths.
    case mixedPaths
    /// Only some sentinels have a path.
    case partial
    /// The target is an address of this host.
    case thisHost
    /// The path leads through a tunnel.
    case tunnel
    /// The preferred default route is dead and hides a live one.
    case deadPreferredDefault

    /// The warning for display: `only 1 of 2 nexthops usable`.
    public var description: String { self.texts.clause }

    /// The warning as JSON gives it: `{"code":"sourceScope","detail":"ula"}`; most have no detail.
    var json: JSONValue { ["code": .string(self.texts.code), "detail": .optional(self.texts.detail)] }

    private var texts: (code: String, detail: String?, clause: String) {
        switch self {
        case .degradedMultipath(let live, let total):
            ("degradedMultipath", "\(live)/\(total)", "only \(live) of \(total) nexthops usable")
        case .deprecatedOnly: ("deprecatedOnly", nil, "only deprecated source addresses")
        case .uniqueLocalSource: ("sourceScope", "ula", "unique local source address")
        case .mixedPaths: ("mixedPaths", nil, "different destinations leave by different paths")
        case .partial: ("partial", nil, "only part of the internet is routed")
        case .thisHost: ("thisHost", nil, "this host")
        case .tunnel: ("tunnel", nil, "through a tunnel")
        case .deadPreferredDefault: ("deadPreferredDefault", nil, "a dead preferred default route hides a live one")
        }
    }
}
