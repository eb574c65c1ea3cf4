internal import CNetlink
internal import Glibc
package import TidegateCore

/// What the kernel says of one socket: `struct inet_diag_msg` with its attributes (sock_diag(7)).
package struct SocketReport: Sendable, Hashable {
    /// The states of TCP (include/net/tcp_states.h); other protocols use two of them.
    package enum State: UInt8, Sendable, Hashable, CaseIterable {
        case established = 1
        case synSent, synReceived, finWait1, finWait2, timeWait, close, closeWait, lastAck, listen, closing
        case newSynReceived, boundInactive
    }

    /// What the socket waits for (the field `idiag_timer`).
    package enum Timer: UInt8, Sendable, Hashable {
        case none
        /// A retransmission, also one that looks for a lost tail (RFC 8985).
        case retransmission
        /// A keepalive probe, or what no other case names.
        case keepalive
        case timeWait
        /// A probe of a window that the peer has closed (RFC 9293 3.8.6.1).
        case windowProbe
    }

    /// An address with a port, as a socket has it; 0 and the unspecified address are "none".
    package struct Endpoint: Sendable, Hashable {
        /// The address; one that IPv6 maps (RFC 4291 2.5.5.2) is the IPv4 address that it means.
        package var address: IPAddress
        package var port: UInt16
    }

    /// The protocol number: 6 is TCP, 17 UDP (RFC 5237).
    package var protocolNumber: UInt8 = 6
    package var state: State
    package var timer: Timer = .none
    /// Expiries of ``timer`` without an answer.
    package var timerExpiries: UInt8 = 0
    /// How long until ``timer`` expires.
    package var timeLeft: Duration = .zero
    package var local: Endpoint
    package var remote: Endpoint
    /// The interface that the socket is bound to (SO_BINDTODEVICE); 0 for none.
    package var interface: UInt32 = 0
    /// The number that no other socket has had since the machine started (SO_COOKIE in socket(7)).
    package var cookie: UInt64 = 0
    /// Bytes that the program has not read.
    package var receiveQueue: UInt32 = 0
    /// Bytes that the peer has not acknowledged, with those that are not sent, and the FIN.
    package var sendQueue: UInt32 = 0
    /// The uid of the program that created the socket; nil if the socket has ended, is not accepted yet, or is closed.
    package var user: UInt32?
    /// The socket's inode; 0 for one that was never accepted, or that ended.
    package var inode: UInt32 = 0
    /// The number of the control group in which it was created (cgroups(7)); nil if the kernel does not say.
    package var controlGroup: UInt64?
    /// How the connection fares; nil where the kernel does not say.
    package var tcp: TCPInfo?
}

/// `struct tcp_info` (include/uapi/linux/tcp.h), as far as connections are judged by it.
///
/// Its length differs by kernel: what a shorter one does not have is 0.
package struct TCPInfo: Sendable, Hashable {
    /// Timeouts of the segment that waits now.
    package var retransmits: UInt8 = 0
    /// Unanswered keepalive or window probes.
    package var probes: UInt8 = 0
    /// The timeout after which is retransmitted, in microseconds.
    package var retransmissionTimeout: UInt32 = 0
    /// The largest segment that is sent, in bytes.
    package var sentSegmentSize: UInt32 = 0
    /// Packets that were sent and are not acknowledged; for a listener, connections that wait to be accepted.
    package var unacknowledged: UInt32 = 0
    /// Milliseconds since data was sent.
    package var lastDataSent: UInt32 = 0
    /// Milliseconds since data was received.
    package var lastDataReceived: UInt32 = 0
    /// Milliseconds since an acknowledgement was received.
    package var lastAcknowledgement: UInt32 = 0
    /// The smoothed round trip in microseconds; the acknowledgement of a FIN may have raised it.
    package var roundTrip: UInt32 = 0
    /// Retransmitted segments.
    package var retransmittedSegments: UInt32 = 0
    /// Bytes that the peer acknowledged; SYN and FIN count one each.
    package var acknowledgedBytes: UInt64 = 0
    /// Bytes that came; the peer's FIN counts one.
    package var receivedBytes: UInt64 = 0
    /// Sent segments.
    package var sentSegments: UInt32 = 0
    /// Received segments.
    package var receivedSegments: UInt32 = 0
    /// Received segments with data, which a FIN alone is not.
    package var receivedDataSegments: UInt32 = 0
    /// Bytes in the send queue that were never sent.
    package var unsentBytes: UInt32 = 0
    /// The shortest round trip in microseconds; nil without a sample.
    package var shortestRoundTrip: UInt32?
    /// Segments that arrived, as the peer said.
    package var deliveredSegments: UInt32 = 0
    /// Bytes that were sent, also again.
    package var sentBytes: UInt64 = 0
    /// Bytes that were sent again.
    package var retransmittedBytes: UInt64 = 0
    /// The window that the peer announced, in bytes.
    package var sendWindow: UInt32 = 0

    package init() {}

    /// From an attribute of any length.
    init(_ bytes: UnsafeRawBufferPointer) {
        func byte(_ offset: Int) -> UInt8 { offset < bytes.count ? bytes[offset] : 0 }
        func word(_ offset: Int) -> UInt32 {
            offset + 4 <= bytes.count ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) : 0
        }
        func long(_ offset: Int) -> UInt64 {
            offset + 8 <= bytes.count ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) : 0
        }
        self.retransmits = byte(2)
        self.probes = byte(3)
        self.retransmissionTimeout = word(8)
        self.sentSegmentSize = word(16)
        self.unacknowledged = word(24)
        self.lastDataSent = word(44)
        self.lastDataReceived = word(52)
        self.lastAcknowledgement = word(56)
        self.roundTrip = word(68)
        self.retransmittedSegments = word(100)
        self.acknowledgedBytes = long(120)
        self.receivedBytes = long(128)
        self.sentSegments = word(136)
        self.receivedSegments = word(140)
        self.unsentBytes = word(144)
        self.receivedDataSegments = word(152)
        // The kernel's own value for "none" (tcp_min_rtt).
        if bytes.count >= 152, word(148) != .max { self.shortestRoundTrip = word(148) }
        self.deliveredSegments = word(192)
        self.sentBytes = long(200)
        self.retransmittedBytes = long(208)
        self.sendWindow = word(228)
    }
}

/// A message of NETLINK_SOCK_DIAG (sock_diag(7)).
package enum SocketMessage: Sendable, Hashable {
    case socket(SocketReport)
    /// The end of a dump; the error number, 0 for none.
    case done(errno: Int32)
    /// A request was refused.
    case refused(errno: Int32)
    /// Nothing that is asked for.
    case ignored
    /// Bytes that are no message, or a report that is too short or of an unknown state.
    case malformed
}

/// Decodes the kernel's datagrams about sockets; safe for any bytes.
package enum SocketMessageDecoder {
    // `struct inet_diag_msg`.
    static let reportSize = 72
    private static let socketByFamily = 20

    /// Passes the messages of a datagram on, each with its sequence number.
    static func decode(_ datagram: UnsafeRawBufferPointer, _ body: (UInt32, SocketMessage) -> Void) {
        let isWhole = MessageDecoder.each(datagram) { message in
            body(message.pointee.nlmsg_seq, self.decode(message))
        }
        if !isWhole { body(0, .malformed) }
    }

    private static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> SocketMessage {
        switch Int(message.pointee.nlmsg_type) {
        case self.socketByFamily:
            let header = MemoryLayout<nlmsghdr>.size
            let whole = UnsafeRawBufferPointer(start: message, count: Int(message.pointee.nlmsg_len))
            return self.report(UnsafeRawBufferPointer(rebasing: whole.dropFirst(header))).map { .socket($0) }
                ?? .malformed
        case Int(NLMSG_DONE): return .done(errno: -(MessageDecoder.body(message, as: Int32.self) ?? 0))
        case Int(NLMSG_ERROR):
            guard let error = MessageDecoder.body(message, as: nlmsgerr.self) else { return .malformed }
            return .refused(errno: -error.error)
        default: return .ignored
        }
    }

    /// A report from the bytes behind a message's header.
    private static func report(_ bytes: UnsafeRawBufferPointer) -> SocketReport? {
        guard bytes.count >= self.reportSize, let state = SocketReport.State(rawValue: bytes[1]) else { return nil }
        func word(_ offset: Int) -> UInt32 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        let interface = word(40)
        guard
            let local = self.endpoint(bytes, address: 8, port: 4, interface),
            let remote = self.endpoint(bytes, address: 24, port: 6, interface)
        else { return nil }
        var report = SocketReport(
            state: state, local: local, remote: remote, cookie: UInt64(word(48)) << 32 | UInt64(word(44)))
        report.timer = SocketReport.Timer(rawValue: bytes[2]) ?? .keepalive
        report.timerExpiries = bytes[3]
        report.interface = interface
        report.timeLeft = .milliseconds(word(52))
        report.receiveQueue = word(56)
        report.sendQueue = word(60)
        report.inode = word(68)
        report.user = word(64) == 0 && report.inode == 0 ? nil : word(64)
        let isWhole = Attributes(UnsafeRawBufferPointer(rebasing: bytes[self.reportSize...])).each { type, value in
            self.read(type, value, into: &report)
        }
        return isWhole ? report : nil
    }

    // Numbers of include/uapi/linux/inet_diag.h. Of an attribute that comes twice the last one counts; one that is too
    // short says nothing.
    private static func read(_ type: Int, _ value: UnsafeRawBufferPointer, into report: inout SocketReport) {
        switch type {
        case 2 where !value.isEmpty: report.tcp = TCPInfo(value)
        case 10: report.protocolNumber = value.first ?? report.protocolNumber
        case 21 where value.count >= 8: report.controlGroup = value.loadUnaligned(as: UInt64.self)
        default: break
        }
    }

    private static func endpoint(
        _ bytes: UnsafeRawBufferPointer, address: Int, port: Int, _ interface: UInt32
    ) -> SocketReport.Endpoint? {
        let size: Int
        switch Int32(bytes[0]) {
        case AF_INET: size = 4
        case AF_INET6: size = 16
        default: return nil
        }
        guard let plain = UnsafeRawBufferPointer(rebasing: bytes[address..<address + size]).address else { return nil }
        let number = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: port, as: UInt16.self))
        // A link-local address of IPv6 means something on its link only.
        let scoped = size == 16 && plain.isLinkLocal ? IPAddress(octets: plain.octets, zone: interface) : nil
        return SocketReport.Endpoint(address: scoped ?? plain, port: number)
    }
}
