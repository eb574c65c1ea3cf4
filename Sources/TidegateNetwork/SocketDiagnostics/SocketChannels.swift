internal import CNetlink
internal import Glibc
package import TidegateCore

/// The socket that lists the live sockets of a network namespace.
package final class SocketDumpChannel {

    private let options: NetlinkOptions
    private var socket: NetlinkSocket
    private var sequence: UInt32 = 0
    private var encoder = RequestEncoder()

    /// Opens the channel.
    ///
    /// - Throws: The error if the kernel or a sandbox refuses it.
    package init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.options = options
        self.socket = try Self.open(options)
    }

    private static func open(_ options: NetlinkOptions) throws(NetlinkError) -> NetlinkSocket {
        let socket = try NetlinkSocket.connected(
            .socketDumps, options, bufferBytes: 1 << 20, protocol: SocketEndingChannel.protocolNumber)
        socket.setQueryOptions()
        return socket
    }

    /// Lists sockets; while sockets come and go, one may be missing or listed twice.
    ///
    /// - Throws: The kernel's error, such as ENOENT if it lacks the socket diagnostics module.
    package func dump(_ request: SocketDump, _ body: (SocketReport) -> Void) throws(NetlinkError) {
        self.sequence &+= 1
        let (sequence, operation) = (self.sequence, "listing sockets")
        self.encoder.clear()
        request.write(to: &self.encoder, sequence: sequence)
        try self.socket.send(self.encoder.requests)
        var problem: NetlinkError?
        var isDone = false
        while !isDone {
            let received = self.socket.receive { bytes in
                SocketMessageDecoder.decode(bytes) { number, message in
                    guard number == sequence else { return }
                    switch message {
                    case .socket(let report): body(report)
                    case .done(let code), .refused(let code):
                        isDone = true
                        if code != 0 { problem = NetlinkError(operation: operation, errno: code) }
                    case .ignored, .malformed: break
                    }
                }
            }
            switch received {
            case .datagram, .foreign: continue
            case .nothing: problem = NetlinkError(operation: operation, text: "no answer in time")
            case .overrun, .truncated: problem = NetlinkError(operation: operation, text: "a part of the list was lost")
            case .failed(let error): problem = error
            }
            // The kernel still holds the rest of this list for the old socket.
            self.socket = try Self.open(self.options)
            isDone = true
        }
        if let problem { throw problem }
    }
}

/// A request for all sockets of some states (`struct inet_diag_req_v2`, sock_diag(7)).
package struct SocketDump: Sendable, Hashable {
    /// The requested states.
    package struct States: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The set of `states`.
        package init(_ states: SocketReport.State...) {
            self.init(rawValue: states.reduce(0) { $0 | 1 << UInt32($1.rawValue) })
        }

        /// Opening connections.
        package static let connecting = States(.synSent)
        /// Connections that can carry data in at least one direction.
        package static let live = States(.established, .finWait1, .finWait2, .closeWait, .lastAck, .closing)
        package static let listeners = States(.listen)
    }

    package var family: AddressFamily
    package var states: States
    /// Whether each report has its ``SocketReport/tcp``, which costs about a fifth more.
    package var asksForInfo: Bool

    /// Creates a request.
    package init(_ family: AddressFamily, _ states: States, asksForInfo: Bool = false) {
        self.family = family
        self.states = states
        self.asksForInfo = asksForInfo
    }

    fileprivate func write(to encoder: inout RequestEncoder, sequence: UInt32) {
        // SOCK_DIAG_BY_FAMILY.
        encoder.begin(20, flags: NLM_F_DUMP, sequence)
        encoder.write(UInt8(self.family.domain))
        encoder.write(UInt8(IPPROTO_TCP))
        // Bit n − 1 requests attribute n; INET_DIAG_INFO is 2. The control group is always included.
        encoder.write(UInt16(self.asksForInfo ? 0x02 : 0).littleEndian)
        encoder.write(self.states.rawValue)
        // Any ports, addresses and interface, and any cookie (INET_DIAG_NOCOOKIE).
        encoder.write(zeros: 40)
        encoder.write(UInt64.max)
        encoder.end()
    }
}

/// The multicast socket for the kernel's messages about closed sockets (the groups SKNLGRP_*_DESTROY of
/// NETLINK_SOCK_DIAG, since Linux 4.2).
package final class SocketEndingChannel {
    // SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY.
    private static let groups: [UInt32] = [1, 3]
    static let protocolNumber: Int32 = 4

    private let socket: NetlinkSocket

    /// Opens the socket and joins the groups.
    ///
    /// - Throws: The error if the kernel or a sandbox refuses it. Success does not prove that messages will arrive: the
    ///   kernel may lack the module that sends them, which a list shows.
    package init(_ options: NetlinkOptions, includesLoopback: Bool) throws(NetlinkError) {
        self.socket = try NetlinkSocket.connected(
            .socketEndings, options, bufferBytes: options.receiveBufferBytes, protocol: Self.protocolNumber)
        try self.socket.setNonblocking()
        // After an overrun the kernel drops everything until the queue is empty, unless the socket suppresses overrun
        // errors; the drops are counted exactly.
        try self.socket.ignoreOverruns()
        self.socket.setFilter(SocketEndingFilter.program(includesLoopback: includesLoopback))
        try self.join()
    }

    package var descriptor: Int32 { self.socket.descriptor }
    package var receiveBufferBytes: Int { self.socket.receiveBufferBytes }

    /// The number of messages that the kernel dropped for lack of buffer space since the socket was opened; it wraps at
    /// 2^32 (SO_MEMINFO in socket(7)).
    package var dropCount: UInt32 { self.socket.dropCount }

    /// Joins the groups, so that messages arrive.
    package func join() throws(NetlinkError) { for group in Self.groups { try self.socket.join(group) } }

    /// Leaves the groups: the kernel then creates no messages.
    package func leave() throws(NetlinkError) { for group in Self.groups { try self.socket.leave(group) } }

    /// Reads one datagram, which holds one message; false if there is nothing to read.
    ///
    /// - Throws: If the socket no longer works.
    package func receive(_ body: (SocketMessage) -> Void) throws(NetlinkError) -> Bool {
        switch self.socket.receive({ bytes in SocketMessageDecoder.decode(bytes) { body($1) } }) {
        // A message from another sender, or no message.
        case .datagram, .foreign, .overrun: break
        case .truncated: body(.malformed)
        case .nothing: return false
        case .failed(let error): throw error
        }
        return true
    }
}

/// The filter for messages about closed sockets, as a classic BPF program.
package enum SocketEndingFilter {
    // `struct inet_diag_msg`, after the message's header (16 bytes).
    private static let family: UInt32 = 16
    private static let localPort: UInt32 = 20
    private static let remoteAddress: UInt32 = 40

    /// A program that drops messages about sockets that were never used and, without `includesLoopback`, about loopback
    /// connections.
    static func program(includesLoopback: Bool) -> [sock_filter] {
        guard !includesLoopback else {
            return [.load(BPF_H, self.localPort), .test(0, ifEqual: 1, otherwise: 0), .keep, .drop]
        }
        // Jumps count the skipped instructions.
        return [
            .load(BPF_H, self.localPort), .test(0, ifEqual: 14, otherwise: 0),
            .load(BPF_B, self.family), .test(UInt32(AF_INET6), ifEqual: 2, otherwise: 0),
            .load(BPF_B, self.remoteAddress), .test(127, ifEqual: 10, otherwise: 9),
            // ::1 and ::ffff:127.0.0.0/104.
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
    /// Loads a byte, half-word or word (BPF_B, BPF_H, BPF_W) of the message.
    static func load(_ size: Int32, _ offset: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_LD | size | BPF_ABS), jt: 0, jf: 0, k: offset)
    }

    /// Compares the loaded value; skips the given number of instructions.
    static func test(_ value: UInt32, ifEqual: UInt8, otherwise: UInt8) -> sock_filter {
        sock_filter(code: UInt16(BPF_JMP | BPF_JEQ | BPF_K), jt: ifEqual, jf: otherwise, k: value)
    }

    static var keep: sock_filter { sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: .max) }
    static var drop: sock_filter { sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0) }
}
