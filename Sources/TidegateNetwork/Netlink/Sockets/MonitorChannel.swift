internal import CNetlink
internal import TidegateCore

/// The socket that listens: multicast only.
final class MonitorChannel {
    // What the tables are kept by has to be heard; of the rest, lookups now and then make up for it.
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

    // A route group that is refused only costs promptness: the safety lookups see the same.
    func joinRoutes() { for group in MonitorChannel.routes { try? self.socket.join(group) } }

    func leaveRoutes() { for group in MonitorChannel.routes { try? self.socket.leave(group) } }

    func receive(_ body: (NetlinkEnvelope) -> Void) -> NetlinkSocket.Received {
        self.socket.receive { MessageDecoder.decode($0, routesAsNews: true, body) }
    }

    /// Throws away what is queued, because a dump will replace it.
    func drain() -> NetlinkSocket.Received {
        // Bounded: a kernel that fills the queue faster than this must not hold the thread.
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
