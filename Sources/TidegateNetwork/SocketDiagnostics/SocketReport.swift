internal import CNetlink
internal import Glibc
package import TidegateCore

/// The kernel's report about one socket: `struct inet_diag_msg` with its attributes (sock_diag(7)).
package struct SocketReport: Sendable, Hashable {
    /// The states of TCP (include/net/tcp_states.h); other protocols use two of them.
    package enum State: UInt8, Sendable, Hashable, CaseIterable {
        case established = 1
        case synSent, synReceived, finWait1, finWait2, timeWait, close, closeWait, lastAck, listen, closing
        case newSynReceived, boundInactive
    }

    /// The socket's pending timer (the field `idiag_timer`).
    package enum Timer: UInt8, Sendable, Hashable {
        case none
        /// A retransmission or a tail-loss probe (RFC 8985).
        case retransmission
        /// A keepalive probe, or a timer without a case of its own.
        case keepalive
        case timeWait
        /// A probe of a window that the peer closed (RFC 9293 3.8.6.1).
        case windowProbe
    }

    /// The address and port of one end of a socket; 0 and the unspecified address mean "none".
    package struct Endpoint: Sendable, Hashable {
        /// The address; IPv4-mapped IPv6 addresses (RFC 4291 2.5.5.2) are converted to IPv4.
        package var address: IPAddress
        package var port: UInt16
    }

    /// The protocol number: 6 is TCP, 17 UDP (RFC 5237).
    package var protocolNumber: UInt8 = 6
    package var state: State
    package var timer: Timer = .none
    /// How often ``timer`` expired without an answer.
    package var timerExpiries: UInt8 = 0
    /// The time until ``timer`` expires.
    package var timeLeft: Duration = .zero
    package var local: Endpoint
    package var remote: Endpoint
    /// The interface that the socket is bound to (SO_BINDTODEVICE); 0 if none.
    package var interface: UInt32 = 0
    /// The socket's cookie, which no other socket has had since boot (SO_COOKIE in socket(7)).
    package var cookie: UInt64 = 0
    /// Bytes that the program has not read.
    package var receiveQueue: UInt32 = 0
    /// Bytes that the peer has not acknowledged, including unsent ones and the FIN.
    package var sendQueue: UInt32 = 0
    /// The uid of the program that created the socket; nil for a socket that is closed or not accepted yet.
    package var user: UInt32?
    /// The socket's inode; 0 if it is closed or was never accepted.
    package var inode: UInt32 = 0
    /// The id of the control group in which it was created (cgroups(7)); nil if the kernel does not report it.
    package var controlGroup: UInt64?
    /// The state of the connection; nil if the kernel does not report it.
    package var tcp: TCPInfo?

    /// Whether the packets of a connection that is being opened do not leave this host.
    package var isNeverSent: Bool { self.tcp?.retransmittedSegments == 0 && self.timerExpiries > 0 }
}

/// The fields of `struct tcp_info` (include/uapi/linux/tcp.h) used to judge connections.
///
/// Its length differs between kernels: missing fields are 0.
package struct TCPInfo: Sendable, Hashable {
    /// Timeouts of the current unacknowledged segment.
    package var retransmits: UInt8 = 0
    /// Unanswered keepalive or window probes.
    package var probes: UInt8 = 0
    /// The retransmission timeout in microseconds.
    package var retransmissionTimeout: UInt32 = 0
    /// The maximum segment size for sending, in bytes.
    package var sentSegmentSize: UInt32 = 0
    /// Packets sent but not acknowledged; for a listener, connections waiting to be accepted.
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
    /// Bytes received; the peer's FIN counts one.
    package var receivedBytes: UInt64 = 0
    /// Sent segments.
    package var sentSegments: UInt32 = 0
    /// Received segments.
    package var receivedSegments: UInt32 = 0
    /// Received segments with data; a FIN alone does not count.
    package var receivedDataSegments: UInt32 = 0
    /// Bytes in the send queue that were never sent.
    package var unsentBytes: UInt32 = 0
    /// The shortest round trip in microseconds; nil if there is no sample.
    package var shortestRoundTrip: UInt32?
    /// Segments that the peer acknowledged as received.
    package var deliveredSegments: UInt32 = 0
    /// Bytes sent, including retransmissions.
    package var sentBytes: UInt64 = 0
    /// Bytes retransmitted.
    package var retransmittedBytes: UInt64 = 0
    /// The receive window that the peer advertised, in bytes.
    package var sendWindow: UInt32 = 0
    /// The receive window that this host advertised, in bytes; nil if the kernel does not report it (before Linux 6.2).
    package var receiveWindow: UInt32?
    /// The receiver's estimate of the round trip in microseconds; 0 without one.
    package var receiveRoundTrip: UInt32 = 0
    /// Sent segments with data, including those sent again.
    package var sentDataSegments: UInt32 = 0
    /// Segments sent again that had not arrived, as far as the peer reports it (RFC 2883); nil if the kernel does not
    /// count what is needed (before Linux 5.4).
    package var lostSegments: UInt32?
    /// Received segments that came before an earlier one.
    package var earlySegments: UInt32 = 0
    /// Microseconds during which data was on its way.
    package var busy: UInt64 = 0
    /// Microseconds of ``busy`` during which the peer's window held data back.
    package var limitedByPeer: UInt64 = 0
    /// Microseconds of ``busy`` during which the send buffer was full.
    package var limitedByBuffer: UInt64 = 0
    /// Whether the program gave less than the path could carry.
    package var isLimitedByProgram = false

    package init() {}

    /// Parses an attribute of any length.
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
        if bytes.count >= 236 { self.receiveWindow = word(232) }
        self.receiveRoundTrip = word(92)
        self.sentDataSegments = word(156)
        if bytes.count >= 228 { self.lostSegments = word(100) - min(word(100), word(216)) }
        self.earlySegments = word(224)
        self.busy = long(168)
        self.limitedByPeer = long(176)
        self.limitedByBuffer = long(184)
        self.isLimitedByProgram = byte(7) & 1 == 1
    }
}

/// A message of NETLINK_SOCK_DIAG (sock_diag(7)).
package enum SocketMessage: Sendable, Hashable {
    case socket(SocketReport)
    /// The end of a dump, with its error number; 0 is success.
    case done(errno: Int32)
    /// A refused request.
    case refused(errno: Int32)
    /// A message that is not used.
    case ignored
    /// Bytes that are not a message, or a report that is too short or has an unknown state.
    case malformed
}

/// Decodes the kernel's datagrams about sockets; safe for any bytes.
package enum SocketMessageDecoder {
    // `struct inet_diag_msg`.
    static let reportSize = 72
    private static let socketByFamily = 20

    /// Passes on the messages of a datagram, each with its sequence number.
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
        case Int(NLMSG_DONE): return .done(errno: 0 &- (MessageDecoder.body(message, as: Int32.self) ?? 0))
        case Int(NLMSG_ERROR):
            guard let error = MessageDecoder.body(message, as: nlmsgerr.self) else { return .malformed }
            return .refused(errno: 0 &- error.error)
        default: return .ignored
        }
    }

    /// Parses a report from the bytes after a message's header.
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

    // The numbers are from include/uapi/linux/inet_diag.h. The last of several equal attributes counts; one that is too
    // short is ignored.
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
        // A link-local IPv6 address is meaningful on its link only.
        let scoped = size == 16 && plain.isLinkLocal ? IPAddress(octets: plain.octets, zone: interface) : nil
        return SocketReport.Endpoint(address: scoped ?? plain, port: number)
    }
}
