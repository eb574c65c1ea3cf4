internal import CNetlink
internal import Glibc
internal import TidegateCore

/// The multicast socket for neighbour tables; separate, so that a flood of ARP cannot overrun the other one.
final class NeighbourChannel {
    // As many fit into one socket filter; with more, everything is read and most of it discarded.
    private static let filterLimit = 100
    private static let bufferBytes = 1 << 20

    private let socket: NetlinkSocket

    init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.socket = try NetlinkSocket.connected(
            .neighbours, options, bufferBytes: min(NeighbourChannel.bufferBytes, options.receiveBufferBytes))
        try self.socket.setNonblocking()
    }

    var descriptor: Int32 { self.socket.descriptor }

    /// Joins the group, after the filter is set.
    func join(_ keys: Set<NeighbourKey>) throws(NetlinkError) {
        self.filter(keys)
        try self.socket.join(RTNLGRP_NEIGH.rawValue)
    }

    /// Makes the kernel drop messages about other neighbours before they wake the thread.
    func filter(_ keys: Set<NeighbourKey>) {
        let program = keys.count <= NeighbourChannel.filterLimit ? NeighbourChannel.program(keys.map(\.address)) : []
        self.socket.setFilter(program)
    }

    func receive(
        malformed: inout Int, _ body: (UnsafeMutablePointer<nlmsghdr>) -> Void
    ) -> NetlinkSocket.Received {
        self.socket.receive { if !MessageDecoder.each($0, body) { malformed += 1 } }
    }

    // MARK: The filter

    // A message is nlmsghdr (16 bytes), ndmsg (12), and NDA_DST first (4, then the address); a
    // multicast datagram has one message. Of an IPv6 address only the last word is compared: what else passes is
    // discarded later.
    private static let familyOffset: UInt32 = 16
    private static let ipv4Offset: UInt32 = 32
    private static let ipv6Offset: UInt32 = 44

    /// A classic BPF program (Documentation/networking/filter.rst) that keeps messages about these addresses.
    ///
    /// Forwarding entries of bridges (AF_BRIDGE) arrive in the same group, and are dropped.
    static func program(_ addresses: [IPAddress]) -> [sock_filter] {
        func values(_ family: AddressFamily) -> [UInt32] {
            Set(addresses.filter { $0.family == family }.map { UInt32(truncatingIfNeeded: $0.bits.low) }).sorted()
        }
        let ipv4 = self.section(offset: self.ipv4Offset, values(.ipv4))
        let ipv6 = self.section(offset: self.ipv6Offset, values(.ipv6))
        return [
            .load(BPF_B, self.familyOffset), .test(UInt32(AF_INET), ifEqual: 1, otherwise: 0),
            .test(UInt32(AF_INET6), ifEqual: UInt8(ipv4.count), otherwise: UInt8(ipv4.count + ipv6.count - 2)),
        ] + ipv4 + ipv6
    }

    // Loads a word, compares it with each value, and ends with "drop" and "keep".
    private static func section(offset: UInt32, _ values: [UInt32]) -> [sock_filter] {
        let tests = values.enumerated().map { place, value in
            sock_filter.test(value, ifEqual: UInt8(values.count - place), otherwise: 0)
        }
        return [.load(BPF_W, offset)] + tests + [.drop, .keep]
    }
}
