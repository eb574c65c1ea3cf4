internal import CNetlink
internal import Glibc
internal import TidegateCore

/// The multicast socket on which the kernel tells of sockets that have ended (the groups SKNLGRP_*_DESTROY of
/// NETLINK_SOCK_DIAG, since Linux 4.2).
package final class SocketEndingChannel {
    /// What one call of ``receive(_:)`` read.
    package enum Received: Sendable, Hashable {
        case messages
        /// Nothing to read.
        case nothing
        /// The socket does not work any more.
        case failed(NetlinkError)
    }

    // SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY.
    private static let groups: [UInt32] = [1, 3]
    static let protocolNumber: Int32 = 4

    private let socket: NetlinkSocket

    /// Joins the groups.
    ///
    /// - Throws: What the kernel or a sandbox refuses. That nothing is refused does not prove that messages come: the
    ///   kernel may lack the part that sends them, which a list shows.
    package init(_ options: NetlinkOptions, includesLoopback: Bool) throws(NetlinkError) {
        if let refusal = options.refusal(.socketEndings) { throw refusal }
        self.socket = try NetlinkSocket.connected(
            .socketEndings, options, bufferBytes: options.receiveBufferBytes, protocol: Self.protocolNumber)
        try self.socket.setNonblocking()
        // After an overrun everything is dropped until the queue is empty, unless the socket asks not to be told; the
        // drops are counted exactly.
        try self.socket.ignoreOverruns()
        self.socket.setFilter(SocketEndingFilter.program(includesLoopback: includesLoopback))
        try self.join()
    }

    package var descriptor: Int32 { self.socket.descriptor }
    package var receiveBufferBytes: Int { self.socket.receiveBufferBytes }

    /// The number of messages that the kernel dropped because the buffer was full, since the socket was opened; it
    /// starts again after 2^32 (SO_MEMINFO in socket(7)).
    package var dropCount: UInt32 { self.socket.dropCount }

    /// Has the messages come.
    package func join() throws(NetlinkError) { for group in Self.groups { try self.socket.join(group) } }

    /// Has no more messages come: the kernel does not make them any more.
    package func leave() throws(NetlinkError) { for group in Self.groups { try self.socket.leave(group) } }

    /// Reads one datagram, which holds one message.
    package func receive(_ body: (SocketMessage) -> Void) -> Received {
        switch self.socket.receive({ bytes in SocketMessageDecoder.decode(bytes) { body($1) } }) {
        // A message of somebody else, or none at all.
        case .datagram, .foreign, .overrun: return .messages
        case .truncated:
            body(.malformed)
            return .messages
        case .nothing: return .nothing
        case .failed(let error): return .failed(error)
        }
    }
}

/// The filter of messages about sockets that ended, as a classic BPF program.
package enum SocketEndingFilter {
    // From the header of the message (16 bytes): `struct inet_diag_msg`.
    private static let family: UInt32 = 16
    private static let localPort: UInt32 = 20
    private static let remoteAddress: UInt32 = 40

    /// A program that drops sockets that were never used and, unless it includes them, connections on loopback.
    static func program(includesLoopback: Bool) -> [sock_filter] {
        guard !includesLoopback else {
            return [.load(BPF_H, self.localPort), .test(0, ifEqual: 1, otherwise: 0), .keep, .drop]
        }
        // Jumps count the instructions that are left out.
        return [
            .load(BPF_H, self.localPort), .test(0, ifEqual: 14, otherwise: 0),
            .load(BPF_B, self.family), .test(UInt32(AF_INET6), ifEqual: 2, otherwise: 0),
            .load(BPF_B, self.remoteAddress), .test(127, ifEqual: 10, otherwise: 9),
            // ::1, and ::ffff:127.0.0.0/104.
            .load(BPF_W, self.remoteAddress), .test(0, ifEqual: 0, otherwise: 7),
            .load(BPF_W, self.remoteAddress + 4), .test(0, ifEqual: 0, otherwise: 5),
            .load(BPF_W, self.remoteAddress + 8), .test(0xFFFF, ifEqual: 5, otherwise: 0),
            .test(0, ifEqual: 0, otherwise: 2),
            .load(BPF_W, self.remoteAddress + 12), .test(1, ifEqual: 1, otherwise: 0),
            .keep, .drop,
            .load(BPF_B, self.remoteAddress + 12), .test(127, ifEqual: 1, otherwise: 0),
            .keep, .drop,
        ]
    }
}

extension sock_filter {
    /// Loads a byte, a half-word or a word (BPF_B, BPF_H, BPF_W) of the message.
    static func load(_ size: Int32, _ offset: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_LD | size | BPF_ABS), jt: 0, jf: 0, k: offset)
    }

    /// Compares what was loaded; leaves out so many of the following instructions.
    static func test(_ value: UInt32, ifEqual: UInt8, otherwise: UInt8) -> sock_filter {
        sock_filter(code: UInt16(BPF_JMP | BPF_JEQ | BPF_K), jt: ifEqual, jf: otherwise, k: value)
    }

    static var keep: sock_filter { sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: .max) }
    static var drop: sock_filter { sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0) }
}
