package import TidegateCore

/// A route that competes to be the way out, as its table lists it: a default, half of one, or one that refuses.
package struct DefaultRoute: Sendable, Hashable {
    /// Where it leads: `0.0.0.0/0`, `::/0`, or a half of the address space.
    package var prefix: IPPrefix
    package var kind: KernelRoute.Kind
    package var table: UInt32
    /// The lower, the sooner it is taken.
    package var metric: UInt32
    /// Who made it (RTPROT_*).
    package var routeProtocol: UInt8
    package var legs: [KernelRoute.Nexthop]
    package var nexthopObject: UInt32?
    /// The source address that it asks for.
    package var source: IPAddress?
    /// Time left before it expires; nil where it does not.
    package var expiresIn: Duration?

    package init(prefix: IPPrefix, route: KernelRoute) {
        self.prefix = prefix
        self.kind = route.kind
        self.table = route.table
        self.metric = route.metric
        self.routeProtocol = route.routeProtocol
        self.legs = route.legs
        self.nexthopObject = route.nexthopObject
        self.source = route.source
        self.expiresIn = route.expiresIn
    }

    /// True where no leg can carry anything (RTNH_F_DEAD, RTNH_F_LINKDOWN).
    package var isDead: Bool { !self.legs.isEmpty && self.legs.allSatisfy(\.isDead) }

    /// `table main`, `table 100`.
    package var tableName: String { "table \(KernelRule.name(ofTable: self.table))" }

    /// In iproute2's words, with links named by `name`: `default via 10.0.0.1 dev v0 table main metric 100`.
    package func description(_ name: (UInt32) -> String?) -> String {
        var words: [String] = []
        if let word = self.kind.word { words.append(word) }
        words.append(self.prefix.length == 0 ? "default" : "\(self.prefix)")
        if let object = self.nexthopObject { words.append("nhid \(object)") }
        if self.legs.count == 1 { words += self.words(of: self.legs[0], name) }
        words.append(self.tableName)
        if let word = DefaultRoute.protocols[self.routeProtocol] { words.append("proto \(word)") }
        if let source = self.source { words.append("src \(source)") }
        if self.metric > 0 { words.append("metric \(self.metric)") }
        if let expiry = self.expiresIn { words.append("expires \(expiry.components.seconds)sec") }
        if self.legs.count == 1 { words += DefaultRoute.flags(of: self.legs[0]) }
        if self.legs.count > 1 {
            for leg in self.legs { words += ["nexthop"] + self.words(of: leg, name) + DefaultRoute.flags(of: leg) }
        }
        return words.joined(separator: " ")
    }

    private func words(of leg: KernelRoute.Nexthop, _ name: (UInt32) -> String?) -> [String] {
        var words: [String] = []
        if let gateway = leg.gateway {
            words.append(gateway.family == self.prefix.address.family ? "via \(gateway)" : "via inet6 \(gateway)")
        }
        words.append("dev \(name(leg.link) ?? "if\(leg.link)")")
        return words
    }

    private static func flags(of leg: KernelRoute.Nexthop) -> [String] {
        (leg.flags & 0x01 != 0 ? ["dead"] : []) + (leg.flags & 0x10 != 0 ? ["linkdown"] : [])
    }

    // rt_protos of iproute2; "boot" is what `ip route add` makes, and goes unsaid there too.
    private static let protocols: [UInt8: String] = [
        1: "redirect", 2: "kernel", 4: "static", 8: "gated", 9: "ra", 11: "zebra", 12: "bird", 16: "dhcp",
        18: "keepalived", 42: "babel", 186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp",
    ]
}

extension KernelRoute.Kind {
    /// The word that iproute2 puts before the prefix; nil for unicast, which goes unsaid.
    package var word: String? {
        switch self {
        case .unicast: nil
        case .local: "local"
        case .broadcast: "broadcast"
        case .multicast: "multicast"
        case .anycast: "anycast"
        case .other(6): "blackhole"
        case .other(7): "unreachable"
        case .other(8): "prohibit"
        case .other(9): "throw"
        case .other(let number): "type \(number)"
        }
    }
}
