/// Whose failure it was.
public enum FaultParty: String, Sendable, MetricLabel {
    /// This host: its links, addresses, routes, disk or the request itself.
    case mine
    /// The gateway on this host's link.
    case gateway
    /// The network behind the gateway.
    case upstream
    /// The name resolvers.
    case resolver
    /// Somewhere on the way.
    case path
    /// The other side.
    case theirs
    /// Nothing tells.
    case unknown
}

/// A step of the ladder from the monitor itself to HTTP.
public enum Rung: String, Sendable, MetricLabel {
    case monitor, interface, carrier, address, route, gateway, dns, internet, tcp, tls, http
}

/// Whose failure an attempt's was, and how that is known.
public struct Attribution: Sendable, Hashable {
    /// Whose failure it was.
    public var party: FaultParty
    /// The rung that failed; nil where none did (a full disk).
    public var rung: Rung?
    /// True when the evidence leaves no other reading.
    public var isCertain: Bool
    /// What was seen, one clause each.
    public var evidence: [String]

    /// An attribution from its parts.
    public init(party: FaultParty, rung: Rung? = nil, isCertain: Bool, evidence: [String] = []) {
        self.party = party
        self.rung = rung
        self.isCertain = isCertain
        self.evidence = evidence
    }
}
