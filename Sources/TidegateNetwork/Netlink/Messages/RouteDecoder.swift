internal import CNetlink
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
