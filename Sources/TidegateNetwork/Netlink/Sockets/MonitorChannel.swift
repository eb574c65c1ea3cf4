internal import CNetlink
internal import TidegateCore

/// The multicast socket.
final class MonitorChannel {
    // The tables depend on these groups; for the others, periodic lookups find the same changes later.
    private static let required = [
        RTNLGRP_LINK.rawValue, RTNLGRP_IPV4_IFADDR.rawValue, RTNLGRP_IPV6_IFADDR.rawValue,
    ]
    private static let routes = [RTNLGRP_IPV4_ROUTE.rawValue, RTNLGRP_IPV6_ROUTE.rawValue]
    private static let others = [
        RTNLGRP_IPV4_RULE.rawValue, RTNLGRP_IPV6_RULE.rawValue, RTNLGRP_NEXTHOP.rawValue,
        RTNLGRP_IPV4_NETCONF.rawValue, RTNLGRP_IPV6_NETCONF.rawValue,
    ]

    private let socket: NetlinkSocket

    init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.socket = try NetlinkSocket.connected(.monitor, options, bufferBytes: options.receiveBufferBytes)
        try self.socket.setNonblocking()
        for group in MonitorChannel.required { try self.socket.join(group) }
        for group in MonitorChannel.others { try? self.socket.join(group) }
        self.joinRoutes()
    }

    var descriptor: Int32 { self.socket.descriptor }
    var receiveBufferBytes: Int { self.socket.receiveBufferBytes }

    func setReceiveBuffer(_ bytes: Int) { self.socket.setReceiveBuffer(bytes) }

    // Without the route groups changes are only found later, by the periodic lookups.
    func joinRoutes() { for group in MonitorChannel.routes { try? self.socket.join(group) } }

    func leaveRoutes() { for group in MonitorChannel.routes { try? self.socket.leave(group) } }

    func receive(_ body: (NetlinkEnvelope) -> Void) -> NetlinkSocket.Received {
        self.socket.receive { MessageDecoder.decode($0, decodesRoutes: false, body) }
    }

    /// Discards what is queued, because a dump will replace it.
    func drain() -> NetlinkSocket.Received {
        // Bounded, in case the kernel fills the queue faster than this empties it.
        for _ in 0..<100_000 {
            switch self.socket.receive({ _ in }) {
            case .datagram, .foreign, .truncated, .overrun: continue
            case .nothing: return .nothing
            case .failed(let error): return .failed(error)
            }
        }
        return .overrun
    }
}
