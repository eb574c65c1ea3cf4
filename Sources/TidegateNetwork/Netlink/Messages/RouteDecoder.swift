internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Decodes RTM_NEWROUTE.
enum RouteDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> KernelRoute? {
        guard let header = MessageDecoder.body(message, as: rtmsg.self),
            let attributes = Attributes(message, fixedBytes: MemoryLayout<rtmsg>.size)
        else { return nil }
        var route = KernelRoute(
            kind: .init(number: header.rtm_type), table: UInt32(header.rtm_table), prefixLength: header.rtm_dst_len,
            routeProtocol: header.rtm_protocol, flags: header.rtm_flags)
        // Thousands of answers arrive in a row: each attribute is read once, without a table of attributes.
        let isWhole = attributes.each { type, bytes in
            switch UInt32(type) {
            case RTA_TABLE.rawValue: route.table = bytes.word ?? route.table
            case RTA_PRIORITY.rawValue: route.metric = bytes.word ?? 0
            case RTA_NH_ID.rawValue: route.nexthopObject = bytes.word
            case RTA_OIF.rawValue: route.link = bytes.word
            case RTA_GATEWAY.rawValue: route.gateway = bytes.address
            case RTA_VIA.rawValue: route.gateway = bytes.via
            case RTA_PREFSRC.rawValue: route.source = bytes.address
            case RTA_MULTIPATH.rawValue: route.nexthops = self.nexthops(bytes)
            case RTA_CACHEINFO.rawValue: route.expiresIn = self.expiry(bytes)
            default: break
            }
        }
        return isWhole ? route : nil
    }

    /// A route of a dump; nil if its prefix is longer than `longest`.
    static func listed(
        _ message: UnsafeMutablePointer<nlmsghdr>, longest: UInt8, in family: AddressFamily
    ) -> DefaultRoute? {
        guard let header = MessageDecoder.body(message, as: rtmsg.self), header.rtm_dst_len <= longest,
            header.rtm_flags & UInt32(RTM_F_CLONED) == 0, let route = self.decode(message)
        else { return nil }
        // The zero prefix has no address.
        let zero = family == .ipv4 ? IPAddress(ipv4: 0) : IPAddress(ipv6: 0, 0)
        let bytes = Attributes(message, fixedBytes: MemoryLayout<rtmsg>.size)?[RTA_DST.rawValue]
        let destination: IPAddress? = bytes.map(\.address) ?? zero
        guard let prefix = destination.flatMap({ IPPrefix($0, length: Int(header.rtm_dst_len)) }) else { return nil }
        return DefaultRoute(prefix: prefix, route: route)
    }

    private static func nexthops(_ bytes: UnsafeRawBufferPointer) -> [KernelRoute.Nexthop] {
        var result: [KernelRoute.Nexthop] = []
        var offset = 0
        while let hop = tg_nexthop_at(bytes.baseAddress, offset, bytes.count) {
            let whole = bytes[offset..<offset + Int(hop.pointee.rtnh_len)]
            let attributes = Attributes(UnsafeRawBufferPointer(rebasing: whole.dropFirst(MemoryLayout<rtnexthop>.size)))
            let gateway = attributes[RTA_GATEWAY.rawValue]?.address ?? attributes[RTA_VIA.rawValue]?.via
            if hop.pointee.rtnh_ifindex > 0 {
                result.append(
                    KernelRoute.Nexthop(
                        link: UInt32(hop.pointee.rtnh_ifindex), gateway: gateway,
                        flags: UInt32(hop.pointee.rtnh_flags)))
            }
            offset += (Int(hop.pointee.rtnh_len) + 3) / 4 * 4
        }
        return result
    }

    // struct rta_cacheinfo: rta_expires is the third word, signed, in hundredths of a second; 0 means never.
    private static func expiry(_ bytes: UnsafeRawBufferPointer) -> Duration? {
        guard bytes.count >= 12 else { return nil }
        let ticks = bytes.loadUnaligned(fromByteOffset: 8, as: Int32.self)
        return ticks == 0 ? nil : .milliseconds(10 * Int64(max(0, ticks)))
    }
}

/// Decodes RTM_NEWRULE of a dump.
enum RuleDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>, in family: AddressFamily) -> KernelRule? {
        guard Int(message.pointee.nlmsg_type) == RTM_NEWRULE,
            let header = MessageDecoder.body(message, as: fib_rule_hdr.self),
            let attributes = Attributes(message, fixedBytes: MemoryLayout<fib_rule_hdr>.size)
        else { return nil }
        let table = attributes[FRA_TABLE]?.word ?? UInt32(header.table)
        var rule = KernelRule(
            priority: attributes[FRA_PRIORITY]?.word ?? 0,
            action: self.action(header.action, table: table, target: attributes[FRA_GOTO]?.word))
        rule.source = self.prefix(attributes, FRA_SRC, header.src_len, family)
        rule.destination = self.prefix(attributes, FRA_DST, header.dst_len, family)
        rule.mark = self.mark(attributes)
        rule.uidRange = self.range(attributes, FRA_UID_RANGE)
        rule.ipProtocol = attributes[FRA_IP_PROTO]?.first
        rule.sourcePorts = self.ports(attributes, FRA_SPORT_RANGE)
        rule.destinationPorts = self.ports(attributes, FRA_DPORT_RANGE)
        rule.inputName = attributes[FRA_IIFNAME]?.text
        rule.outputName = attributes[FRA_OIFNAME]?.text
        rule.typeOfService = header.tos
        rule.isInverted = header.flags & UInt32(FIB_RULE_INVERT) != 0
        // All ones if nothing is suppressed.
        rule.suppressPrefixLength = attributes[FRA_SUPPRESS_PREFIXLEN]?.word.flatMap { $0 == .max ? nil : $0 }
        rule.isL3Master = attributes[FRA_L3MDEV]?.first.map { $0 != 0 } ?? false
        return rule
    }

    // FR_ACT_* of linux/fib_rules.h.
    private static func action(_ number: UInt8, table: UInt32, target: UInt32?) -> KernelRule.Action {
        switch number {
        case 1: .lookup(table)
        case 2: target.map { .goTo($0) } ?? .other(number)
        case 6: .blackhole
        case 7: .unreachable
        case 8: .prohibit
        default: .other(number)
        }
    }

    private static func prefix(
        _ attributes: Attributes, _ type: some BinaryInteger, _ length: UInt8, _ family: AddressFamily
    ) -> IPPrefix? {
        guard length > 0, let address = attributes[type]?.address else { return nil }
        // An IPv6 rule about IPv4-mapped addresses matches no IPv6 packet.
        return IPPrefix(address, length: Int(length) - family.bits + address.family.bits)
    }

    // Without a mask the kernel compares all bits, and with neither it compares nothing.
    private static func mark(_ attributes: Attributes) -> KernelRule.Mark? {
        let (value, mask) = (attributes[FRA_FWMARK]?.word, attributes[FRA_FWMASK]?.word)
        guard value != nil || mask != nil, mask != 0 else { return nil }
        return KernelRule.Mark(value: value ?? 0, mask: mask ?? .max)
    }

    private static func ports(_ attributes: Attributes, _ type: some BinaryInteger) -> ClosedRange<UInt16>? {
        self.range(attributes, type).flatMap { $0.upperBound > 0 ? $0 : nil }
    }

    // struct fib_rule_uid_range and struct fib_rule_port_range, in the machine's byte order.
    private static func range<Bound: FixedWidthInteger & BitwiseCopyable>(
        _ attributes: Attributes, _ type: some BinaryInteger
    ) -> ClosedRange<Bound>? {
        let size = MemoryLayout<Bound>.size
        guard let bytes = attributes[type], bytes.count >= 2 * size else { return nil }
        let first = bytes.loadUnaligned(as: Bound.self)
        let last = bytes.loadUnaligned(fromByteOffset: size, as: Bound.self)
        return first <= last ? first...last : nil
    }
}
