/// A message of a socket's error queue (`struct sock_extended_err`, ip(7)).
package struct ExtendedSocketError: Sendable, Hashable {
    /// The error number that goes with it (errno(3)).
    package var errorNumber: Int32
    /// What reported it.
    package var origin: ErrorOrigin
    /// Who refused, and how.
    package var refusal: ICMPError
    /// How many bytes a packet may have, if this one was too long (EMSGSIZE); 0 if that is not known.
    package var mtu: Int

    /// What reported an error (SO_EE_ORIGIN_*); the other origins are no errors.
    package enum ErrorOrigin: UInt8, Sendable, Hashable {
        /// This host's own stack, without an ICMP message.
        case local = 1
        /// An ICMP message for IPv4.
        case icmp = 2
        /// An ICMPv6 message.
        case icmp6 = 3
    }

    /// The first such message among control messages as recvmsg(2) leaves them; nil if there is none.
    ///
    /// Whatever the bytes are, nothing beyond them is read.
    package init?(control bytes: [UInt8]) {
        var rest = bytes[...]
        while let message = ControlMessage(&rest) {
            guard message.isExtendedError, let error = ExtendedSocketError(message.body) else { continue }
            self = error
            return
        }
        return nil
    }

    private init?(_ body: ArraySlice<UInt8>) {
        guard body.count >= 16, let origin = ErrorOrigin(rawValue: body[body.startIndex + 4]) else { return nil }
        let start = body.startIndex
        self.errorNumber = Int32(truncatingIfNeeded: body[start..<start + 4].nativeInteger)
        self.origin = origin
        self.refusal = ICMPError(
            offender: ExtendedSocketError.address(body.dropFirst(16)), type: body[start + 5], code: body[start + 6])
        self.mtu = Int(truncatingIfNeeded: body[start + 8..<start + 12].nativeInteger)
    }

    /// The address in a `sockaddr_in` or a `sockaddr_in6`; nil for any other.
    private static func address(_ name: ArraySlice<UInt8>) -> IPAddress? {
        guard name.count >= 2 else { return nil }
        let start = name.startIndex
        switch name[start..<start + 2].nativeInteger {
        // AF_INET: family, port, address.
        case 2 where name.count >= 8: return IPAddress(octets: name[start + 4..<start + 8])
        // AF_INET6: family, port, flow, address, scope.
        case 10 where name.count >= 24:
            let zone = name.count >= 28 ? UInt32(truncatingIfNeeded: name[start + 24..<start + 28].nativeInteger) : 0
            guard let address = IPAddress(octets: name[start + 8..<start + 24]) else { return nil }
            // The kernel gives a scope with global addresses, too; they mean the same everywhere.
            return address.isLinkLocal ? IPAddress(octets: address.octets, zone: zone) : address
        default: return nil
        }
    }
}

/// One control message (cmsg(3)): its length, its level and type, and what it carries.
private struct ControlMessage {
    let level: Int32
    let type: Int32
    let body: ArraySlice<UInt8>

    // `struct cmsghdr` on 64-bit Linux: size_t length, int level, int type.
    private static let headerSize = 16

    /// Takes the next one off `rest`; nil if no whole one is left.
    init?(_ rest: inout ArraySlice<UInt8>) {
        guard rest.count >= Self.headerSize else { return nil }
        let start = rest.startIndex
        let length = rest[start..<start + 8].nativeInteger
        guard length >= UInt64(Self.headerSize), length <= UInt64(rest.count) else { return nil }
        let end = start + Int(length)
        self.level = Int32(truncatingIfNeeded: rest[start + 8..<start + 12].nativeInteger)
        self.type = Int32(truncatingIfNeeded: rest[start + 12..<start + 16].nativeInteger)
        self.body = rest[start + Self.headerSize..<end]
        // The next one starts at a multiple of the word's size.
        rest = rest.dropFirst((Int(length) + 7) & ~7)
    }

    /// IP_RECVERR of SOL_IP, or IPV6_RECVERR of SOL_IPV6.
    var isExtendedError: Bool { (self.level == 0 && self.type == 11) || (self.level == 41 && self.type == 25) }
}

extension ArraySlice<UInt8> {
    /// The bytes as a number in this machine's order.
    fileprivate var nativeInteger: UInt64 {
        #if _endian(little)
            self.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        #else
            self.reduce(0) { $0 << 8 | UInt64($1) }
        #endif
    }
}
