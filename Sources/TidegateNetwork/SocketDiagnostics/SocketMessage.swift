internal import CNetlink
internal import Glibc
internal import TidegateCore

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
        report.user = word(64)
        report.inode = word(68)
        let isWhole = Attributes.each(UnsafeRawBufferPointer(rebasing: bytes[self.reportSize...])) { type, value in
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
        let isIPv6: Bool
        switch Int32(bytes[0]) {
        case AF_INET: isIPv6 = false
        case AF_INET6: isIPv6 = true
        default: return nil
        }
        let number = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: port, as: UInt16.self))
        guard isIPv6 else {
            let bits = bytes.loadUnaligned(fromByteOffset: address, as: UInt32.self)
            return SocketReport.Endpoint(address: IPAddress(ipv4: UInt32(bigEndian: bits)), port: number)
        }
        let high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: address, as: UInt64.self))
        let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: address + 8, as: UInt64.self))
        let plain = IPAddress(ipv6: high, low)
        // A link-local address means something on its link only.
        let scoped = plain.isLinkLocal ? IPAddress(octets: plain.octets, zone: interface) : nil
        return SocketReport.Endpoint(address: scoped ?? plain, port: number)
    }
}
