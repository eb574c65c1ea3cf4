package import TidegateCore

/// A request for the route of a packet to an address.
package struct RouteQuestion: Sendable, Hashable {
    package var destination: IPAddress
    /// The destination port of the planned connection; rules may match it.
    package var port: UInt16?
    /// The protocol that the port belongs to (IPPROTO_*, protocols(5)); not sent without a port.
    package var ipProtocol: UInt8
    /// The only interface that routes may use; nil for any.
    package var link: UInt32?
    /// The mark of the socket that would be used (SO_MARK in socket(7)); rules may match it.
    package var mark: UInt32?
    /// The user whose socket would be used; nil for this process's own.
    package var uid: UInt32?

    package init(
        _ destination: IPAddress, port: UInt16? = nil, link: UInt32? = nil, mark: UInt32? = nil, uid: UInt32? = nil,
        ipProtocol: UInt8 = RouteQuestion.tcp
    ) {
        self.destination = destination
        self.port = port
        self.ipProtocol = ipProtocol
        self.link = link
        self.mark = mark
        self.uid = uid
    }

    package static let tcp: UInt8 = 6
    package static let udp: UInt8 = 17
}

/// The kernel's two answers to one ``RouteQuestion``.
package struct RouteLookup: Sendable, Hashable {
    /// The route that matches, with every nexthop (RTM_F_FIB_MATCH).
    package var matched: Answer
    /// The path that a packet would take now.
    package var chosen: Answer

    package enum Answer: Sendable, Hashable {
        case route(KernelRoute)
        /// A raw error number; `hasText` if the kernel added a message (NLMSGERR_ATTR_MSG), which it does only for invalid
        /// requests.
        case refused(errno: Int32, hasText: Bool)
        /// No answer arrived in time.
        case none
    }
}

/// A route as a lookup returns it.
package struct KernelRoute: Sendable, Hashable {
    /// RTN_* (rtnetlink(7)); types of later kernels have no name here.
    package struct Kind: Sendable, Hashable {
        let number: UInt8

        package static let unicast = Kind(number: 1)
        package static let local = Kind(number: 2)
        package static let broadcast = Kind(number: 3)
        package static let anycast = Kind(number: 4)
        package static let multicast = Kind(number: 5)
        package static let blackhole = Kind(number: 6)
        package static let unreachable = Kind(number: 7)
        package static let prohibit = Kind(number: 8)

        /// The keyword that iproute2 prints before the prefix; nil for unicast, which it does not print.
        package var keyword: String? {
            self == .unicast ? nil : Self.keywords[self.number] ?? "type \(self.number)"
        }

        private static let keywords: [UInt8: String] = [
            2: "local", 3: "broadcast", 4: "anycast", 5: "multicast", 6: "blackhole", 7: "unreachable", 8: "prohibit",
            9: "throw",
        ]
    }

    package var kind: Kind = .unicast
    package var table: UInt32 = 254
    /// The network bits of the route's destination.
    package var prefixLength: UInt8 = 0
    /// Lower is preferred (RTA_PRIORITY).
    package var metric: UInt32 = 0
    /// What created it (RTPROT_*).
    package var routeProtocol: UInt8 = 3
    /// RTNH_F_* of the single nexthop.
    package var flags: UInt32 = 0
    package var link: UInt32?
    package var gateway: IPAddress?
    package var source: IPAddress?
    /// The nexthop object that the route uses (ip-nexthop(8)); with one, the kernel may omit the nexthops.
    package var nexthopObject: UInt32?
    /// The nexthops of a multipath route; empty for a single nexthop.
    package var nexthops: [Nexthop] = []
    /// Time left before the route expires; nil if it does not.
    package var expiresIn: Duration?

    /// One nexthop of a route.
    package struct Nexthop: Sendable, Hashable {
        package var link: UInt32
        package var gateway: IPAddress?
        /// RTNH_F_*.
        package var flags: UInt32 = 0

        /// RTNH_F_DEAD and RTNH_F_LINKDOWN.
        package static let deadFlags: UInt32 = 0x01 | 0x10

        package var isDead: Bool { self.flags & Nexthop.deadFlags != 0 }
    }

    /// Every nexthop, including a single one.
    package var legs: [Nexthop] {
        if !self.nexthops.isEmpty { return self.nexthops }
        guard let link = self.link else { return [] }
        return [Nexthop(link: link, gateway: self.gateway, flags: self.flags)]
    }

    /// True if no nexthop can carry packets (RTNH_F_DEAD, RTNH_F_LINKDOWN).
    package var isDead: Bool { !self.legs.isEmpty && self.legs.allSatisfy(\.isDead) }
}

/// The routes of a table that a dump returns.
struct RouteFilter: Hashable {
    var table: UInt32
    /// RTPROT_*; 0 for any.
    var routeProtocol: UInt8 = 0
    /// RTN_*; 0 for any.
    var type: UInt8 = 0
}

/// A route that competes to be the default: a default route, one half of a default, or a route that refuses.
@dynamicMemberLookup
package struct DefaultRoute: Sendable, Hashable {
    /// Its destination: `0.0.0.0/0`, `::/0`, or a half of the address space.
    package let prefix: IPPrefix
    private let route: KernelRoute

    package init(prefix: IPPrefix, route: KernelRoute) {
        self.prefix = prefix
        self.route = route
    }

    /// Properties of the kernel's route.
    package subscript<Value>(dynamicMember member: KeyPath<KernelRoute, Value>) -> Value { self.route[keyPath: member] }

    /// The table, as `table main` or `table 100`.
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
