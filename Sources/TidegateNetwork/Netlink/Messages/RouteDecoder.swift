internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Decodes RTM_NEWROUTE.
enum RouteDecoder {
    private static let highest = Int(RTA_NH_ID.rawValue)

    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> KernelRoute? {
        guard let header = MessageDecoder.body(message, as: rtmsg.self) else { return nil }
        var route = KernelRoute(
            kind: .init(number: header.rtm_type), table: UInt32(header.rtm_table), prefixLength: header.rtm_dst_len,
            routeProtocol: header.rtm_protocol, flags: header.rtm_flags)
        // Thousands of answers arrive in a row: each attribute is read once, without a table of attributes.
        let isWhole = Attributes.each(message, fixedBytes: MemoryLayout<rtmsg>.size) { type, bytes in
            switch UInt32(type) {
            case RTA_TABLE.rawValue: route.table = Attributes.word(bytes) ?? route.table
            case RTA_PRIORITY.rawValue: route.metric = Attributes.word(bytes) ?? 0
            case RTA_NH_ID.rawValue: route.nexthopObject = Attributes.word(bytes)
            case RTA_OIF.rawValue: route.link = Attributes.word(bytes)
            case RTA_GATEWAY.rawValue: route.gateway = Attributes.address(bytes)
            case RTA_VIA.rawValue: route.gateway = Attributes.via(bytes)
            case RTA_PREFSRC.rawValue: route.source = Attributes.address(bytes)
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
        var destination: IPAddress? = family == .ipv4 ? IPAddress(ipv4: 0) : IPAddress(ipv6: 0, 0)
        // The zero prefix has no address.
        _ = Attributes.each(message, fixedBytes: MemoryLayout<rtmsg>.size) { type, bytes in
            if type == Int(RTA_DST.rawValue) { destination = Attributes.address(bytes) }
        }
        guard let prefix = destination.flatMap({ IPPrefix($0, length: Int(header.rtm_dst_len)) }) else { return nil }
        return DefaultRoute(prefix: prefix, route: route)
    }

    private static func nexthops(_ bytes: UnsafeRawBufferPointer) -> [KernelRoute.Nexthop] {
        var result: [KernelRoute.Nexthop] = []
        var offset = 0
        while let hop = tg_nexthop_at(bytes.baseAddress, offset, bytes.count) {
            let gateway = Attributes.of(hop, highest: self.highest) {
                $0.address(Int(RTA_GATEWAY.rawValue)) ?? $0.via(Int(RTA_VIA.rawValue))
            }
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
            let header = MessageDecoder.body(message, as: fib_rule_hdr.self)
        else { return nil }
        return Attributes.of(message, fixedBytes: MemoryLayout<fib_rule_hdr>.size, highest: Int(FRA_DPORT_RANGE)) {
            self.rule(header, $0, family)
        }
    }

    private static func rule(_ header: fib_rule_hdr, _ attributes: Attributes, _ family: AddressFamily) -> KernelRule {
        let table = attributes.word(Int(FRA_TABLE)) ?? UInt32(header.table)
        var rule = KernelRule(
            priority: attributes.word(Int(FRA_PRIORITY)) ?? 0,
            action: self.action(header.action, table: table, target: attributes.word(Int(FRA_GOTO))))
        rule.source = self.prefix(attributes, FRA_SRC, header.src_len, family)
        rule.destination = self.prefix(attributes, FRA_DST, header.dst_len, family)
        rule.mark = self.mark(attributes)
        rule.uidRange = self.range(attributes, FRA_UID_RANGE)
        rule.ipProtocol = attributes.byte(Int(FRA_IP_PROTO))
        rule.sourcePorts = self.ports(attributes, FRA_SPORT_RANGE)
        rule.destinationPorts = self.ports(attributes, FRA_DPORT_RANGE)
        rule.inputName = attributes.text(Int(FRA_IIFNAME))
        rule.outputName = attributes.text(Int(FRA_OIFNAME))
        rule.typeOfService = header.tos
        rule.isInverted = header.flags & UInt32(FIB_RULE_INVERT) != 0
        // All ones if nothing is suppressed.
        rule.suppressPrefixLength = attributes.word(Int(FRA_SUPPRESS_PREFIXLEN)).flatMap { $0 == .max ? nil : $0 }
        rule.isL3Master = attributes.byte(Int(FRA_L3MDEV)).map { $0 != 0 } ?? false
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
        guard length > 0, let address = attributes.address(Int(type)) else { return nil }
        // A rule of IPv6 about IPv4-mapped addresses fits no packet of IPv6.
        return IPPrefix(address, length: Int(length) - family.bits + address.family.bits)
    }

    // Without a mask the kernel compares all bits, and with neither it compares nothing.
    private static func mark(_ attributes: Attributes) -> KernelRule.Mark? {
        let (value, mask) = (attributes.word(Int(FRA_FWMARK)), attributes.word(Int(FRA_FWMASK)))
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
        guard let bytes = attributes.bytes(Int(type)), bytes.count >= 2 * size else { return nil }
        let first = bytes.loadUnaligned(as: Bound.self)
        let last = bytes.loadUnaligned(fromByteOffset: size, as: Bound.self)
        return first <= last ? first...last : nil
    }
}
