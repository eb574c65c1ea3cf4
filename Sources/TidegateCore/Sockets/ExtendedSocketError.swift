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

    /// The first such message among control messages from recvmsg(2); nil without one.
    ///
    /// Never reads beyond the bytes, whatever they are.
    package init?(control bytes: [UInt8]) {
        var rest = bytes[...]
        // `struct cmsghdr` on 64-bit Linux: size_t length, int level, int type.
        while rest.count >= 16 {
            let length = rest.number(at: 0, 8)
            guard length >= 16, length <= UInt64(rest.count) else { return nil }
            let kind = (rest.number(at: 8, 4), rest.number(at: 12, 4))
            // IP_RECVERR of SOL_IP, and IPV6_RECVERR of SOL_IPV6.
            if kind == (0, 11) || kind == (41, 25),
                let error = ExtendedSocketError(rest.prefix(Int(length)).dropFirst(16))
            {
                self = error
                return
            }
            // The next one starts at a multiple of the word's size.
            rest = rest.dropFirst((Int(length) + 7) & ~7)
        }
        return nil
    }

    private init?(_ body: ArraySlice<UInt8>) {
        let start = body.startIndex
        guard body.count >= 16, let origin = ErrorOrigin(rawValue: body[start + 4]) else { return nil }
        self.errorNumber = Int32(truncatingIfNeeded: body.number(at: 0, 4))
        self.origin = origin
        self.refusal = ICMPError(
            offender: ExtendedSocketError.address(body.dropFirst(16)), type: body[start + 5], code: body[start + 6])
        self.mtu = Int(body.number(at: 8, 4))
    }

    /// The address in a `sockaddr_in` or a `sockaddr_in6`; nil for any other.
    private static func address(_ name: ArraySlice<UInt8>) -> IPAddress? {
        switch name.number(at: 0, 2) {
        // AF_INET: family, port, address.
        case 2: return IPAddress(octets: name.dropFirst(4).prefix(4))
        // AF_INET6: family, port, flow, address, scope.
        case 10:
            guard name.count >= 24, let address = IPAddress(octets: name.dropFirst(8).prefix(16)) else { return nil }
            let zone = name.count >= 28 ? UInt32(name.number(at: 24, 4)) : 0
            // The kernel also gives a scope with global addresses, which mean the same everywhere.
            return address.isLinkLocal ? IPAddress(octets: address.octets, zone: zone) : address
        default: return nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// The number in so many bytes, in this machine's byte order.
    fileprivate func number(at offset: Int, _ count: Int) -> UInt64 {
        let bytes = self.dropFirst(offset).prefix(count)
        #if _endian(little)
            return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        #else
            return bytes.reduce(0) { $0 << 8 | UInt64($1) }
        #endif
    }
}
