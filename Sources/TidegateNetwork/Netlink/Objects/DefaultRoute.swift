package import TidegateCore

/// A route that competes to be the default, as its table lists it: a default, half of one, or one that refuses.
@dynamicMemberLookup
package struct DefaultRoute: Sendable, Hashable {
    /// Its destination: `0.0.0.0/0`, `::/0`, or a half of the address space.
    package let prefix: IPPrefix
    private let route: KernelRoute

    package init(prefix: IPPrefix, route: KernelRoute) {
        self.prefix = prefix
        self.route = route
    }

    /// What else the kernel says of it.
    package subscript<Value>(dynamicMember member: KeyPath<KernelRoute, Value>) -> Value { self.route[keyPath: member] }

    /// `table main`, `table 100`.
    package var tableName: String { "table \(KernelRule.name(ofTable: self.table))" }

    /// As iproute2 prints it, with links named by `name`: `default via 10.0.0.1 dev v0 table main metric 100`.
    package func description(_ name: (UInt32) -> String?) -> String {
        var parts: [String] = []
        if let word = self.kind.keyword { parts.append(word) }
        parts.append(self.prefix.length == 0 ? "default" : "\(self.prefix)")
        if let object = self.nexthopObject { parts.append("nhid \(object)") }
        if self.legs.count == 1 { parts += self.text(of: self.legs[0], name) }
        parts.append(self.tableName)
        if let word = DefaultRoute.protocols[self.routeProtocol] { parts.append("proto \(word)") }
        if let source = self.source { parts.append("src \(source)") }
        if self.metric > 0 { parts.append("metric \(self.metric)") }
        if let expiry = self.expiresIn { parts.append("expires \(expiry.components.seconds)sec") }
        if self.legs.count == 1 { parts += DefaultRoute.flags(of: self.legs[0]) }
        if self.legs.count > 1 {
            for leg in self.legs { parts += ["nexthop"] + self.text(of: leg, name) + DefaultRoute.flags(of: leg) }
        }
        return parts.joined(separator: " ")
    }

    private func text(of leg: KernelRoute.Nexthop, _ name: (UInt32) -> String?) -> [String] {
        var parts: [String] = []
        if let gateway = leg.gateway {
            parts.append(gateway.family == self.prefix.address.family ? "via \(gateway)" : "via inet6 \(gateway)")
        }
        parts.append("dev \(name(leg.link) ?? "if\(leg.link)")")
        return parts
    }

    private static func flags(of leg: KernelRoute.Nexthop) -> [String] {
        (leg.flags & 0x01 != 0 ? ["dead"] : []) + (leg.flags & 0x10 != 0 ? ["linkdown"] : [])
    }

    // rt_protos of iproute2; "boot" is what `ip route add` creates, and iproute2 does not print it either.
    private static let protocols: [UInt8: String] = [
        1: "redirect", 2: "kernel", 4: "static", 8: "gated", 9: "ra", 11: "zebra", 12: "bird", 16: "dhcp",
        18: "keepalived", 42: "babel", 186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp",
    ]
}

extension KernelRoute.Kind {
    /// The keyword that iproute2 prints before the prefix; nil for unicast, which it does not print.
    package var keyword: String? {
        self == .unicast ? nil : Self.keywords[self.number] ?? "type \(self.number)"
    }

    private static let keywords: [UInt8: String] = [
        2: "local", 3: "broadcast", 4: "anycast", 5: "multicast", 6: "blackhole", 7: "unreachable", 8: "prohibit",
        9: "throw",
    ]
}
