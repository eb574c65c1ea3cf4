package import TidegateCore

/// A request for the route of a packet to an address.
package struct RouteQuestion: Sendable, Hashable {
    package var destination: IPAddress
    /// The destination port of the planned connection; rules may match it.
    package var port: UInt16?
    /// The protocol that the port belongs to (IPPROTO_*, protocols(5)); not sent without a port.
    package var ipProtocol: UInt8
    /// Only routes by this interface.
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
        /// No answer in time.
        case none
    }
}

/// A route as a lookup returns it.
package struct KernelRoute: Sendable, Hashable {
    /// RTN_* (rtnetlink(7)); those of later kernels have no name here.
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

    /// Every nexthop, also of a route with a single one.
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
