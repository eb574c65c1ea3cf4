package import TidegateModel

/// A question to the kernel about where a packet to an address would go.
package struct RouteQuestion: Sendable, Hashable {
    package var destination: IPAddress
    /// The destination port of the TCP connection to be made; rules may look at it.
    package var port: UInt16?
    /// Ask about this interface only.
    package var link: UInt32?

    package init(_ destination: IPAddress, port: UInt16? = nil, link: UInt32? = nil) {
        self.destination = destination
        self.port = port
        self.link = link
    }
}

/// The kernel's two answers to one question.
package struct RouteLookup: Sendable, Hashable {
    /// The route that matches, with every nexthop (RTM_F_FIB_MATCH).
    package var matched: Answer
    /// The way that a packet would take now.
    package var chosen: Answer

    package init(matched: Answer, chosen: Answer) {
        self.matched = matched
        self.chosen = chosen
    }

    package enum Answer: Sendable, Hashable {
        case route(KernelRoute)
        /// A raw error number; `hasText` where the kernel explained it (NLMSGERR_ATTR_MSG), which it does only for bad requests.
        case refused(errno: Int32, hasText: Bool)
        /// No answer in time.
        case none
    }
}

/// A route as a lookup returns it.
package struct KernelRoute: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case unicast, local, broadcast, multicast, anycast
        case other(UInt8)
    }

    package var kind: Kind
    package var table: UInt32
    /// RTNH_F_* of the single nexthop.
    package var flags: UInt32
    package var link: UInt32?
    package var gateway: IPAddress?
    package var source: IPAddress?
    /// The legs of a multipath route; empty for a single nexthop.
    package var nexthops: [Nexthop]
    /// Time left before the route expires; nil where it does not.
    package var expiresIn: Duration?

    package init(
        kind: Kind = .unicast, table: UInt32 = 254, flags: UInt32 = 0, link: UInt32? = nil, gateway: IPAddress? = nil,
        source: IPAddress? = nil, nexthops: [Nexthop] = [], expiresIn: Duration? = nil
    ) {
        self.kind = kind
        self.table = table
        self.flags = flags
        self.link = link
        self.gateway = gateway
        self.source = source
        self.nexthops = nexthops
        self.expiresIn = expiresIn
    }

    /// One leg of a route.
    package struct Nexthop: Sendable, Hashable {
        package var link: UInt32
        package var gateway: IPAddress?
        /// RTNH_F_*.
        package var flags: UInt32

        package init(link: UInt32, gateway: IPAddress? = nil, flags: UInt32 = 0) {
            self.link = link
            self.gateway = gateway
            self.flags = flags
        }

        /// RTNH_F_DEAD and RTNH_F_LINKDOWN.
        package static let deadFlags: UInt32 = 0x01 | 0x10

        package var isDead: Bool { self.flags & Nexthop.deadFlags != 0 }
    }

    /// Every leg, also of a route with a single nexthop.
    package var legs: [Nexthop] {
        if !self.nexthops.isEmpty { return self.nexthops }
        guard let link = self.link else { return [] }
        return [Nexthop(link: link, gateway: self.gateway, flags: self.flags)]
    }
}
