/// The path a packet would take: which link, which gateway, from which address.
public struct NetworkPath: Sendable, Hashable, CustomStringConvertible {
    /// The interface name.
    public var interface: String
    /// The interface index.
    package var index: UInt32
    /// The life of that index (see ``Link/generation``).
    package var generation: UInt32
    /// The gateway; nil on the link itself.
    public var gateway: IPAddress?
    /// The source address that the kernel would choose.
    public var source: IPAddress?
    /// The routing table of the matched route (rt_tables(5)); nil if the kernel does not say.
    package var table: UInt32?
    /// Whether traffic on this path costs money.
    public var metered: Metered

    /// A path from its parts.
    package init(
        interface: String, index: UInt32, generation: UInt32 = 0, gateway: IPAddress? = nil,
        source: IPAddress? = nil, table: UInt32? = nil, metered: Metered = .guessNo
    ) {
        (self.interface, self.index, self.generation, self.gateway) = (interface, index, generation, gateway)
        (self.source, self.table, self.metered) = (source, table, metered)
    }

    /// What makes two paths the same one: link, gateway and source; a renamed interface is the same link.
    package struct Identity: Sendable, Hashable {
        let index: UInt32
        let generation: UInt32
        let gateway: IPAddress?
        let source: IPAddress?
    }

    /// What distinguishes this path from others.
    package var identity: Identity {
        Identity(index: self.index, generation: self.generation, gateway: self.gateway, source: self.source)
    }

    /// True when packets would take the same path: same link, gateway and source.
    package func isSamePath(as other: NetworkPath) -> Bool { self.identity == other.identity }

    /// The path as `ip route get` orders it: `eth0 via 10.0.0.1 from 10.0.0.2`.
    public var description: String {
        let gateway = self.gateway.map { " via \($0)" } ?? ""
        let source = self.source.map { " from \($0)" } ?? ""
        return self.interface + gateway + source
    }

    /// The path behind a level: `through eth0 (gateway 10.0.0.1)`.
    var through: String { "through \(self.interface)" + (self.gateway.map { " (gateway \($0))" } ?? "") }
}

/// Whether traffic on a path costs money, as far as is known.
public enum Metered: String, Sendable, CaseIterable, Hashable {
    /// Configured as metered.
    case yes
    /// Configured as not metered.
    case no
    /// Assumed metered from the type of link.
    case guessYes
    /// Assumed not metered from the type of link.
    case guessNo
    /// There is no path.
    case unknown

    /// True for `yes` and `guessYes`.
    package var isCostly: Bool { self == .yes || self == .guessYes }

    // `no` and, apart from it, whether that is assumed.
    var members: [JSONValue.Member] {
        let word = self.isCostly ? "yes" : self == .unknown ? "unknown" : "no"
        return [.init("metered", .string(word)), .init("meteredGuessed", .bool(self == .guessYes || self == .guessNo))]
    }
}
