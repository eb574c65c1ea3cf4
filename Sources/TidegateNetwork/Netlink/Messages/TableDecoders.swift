internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Decodes RTM_NEWLINK and RTM_DELLINK.
enum LinkDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>, isGone: Bool) -> NetlinkMessage? {
        guard let header = MessageDecoder.body(message, as: ifinfomsg.self) else { return nil }
        // A port that leaves its bridge is announced as RTM_DELLINK of AF_BRIDGE; the link still exists.
        guard header.ifi_family == UInt8(AF_UNSPEC) else { return .ignored }
        guard header.ifi_index > 0 else { return nil }
        let index = UInt32(header.ifi_index)
        if isGone { return .linkGone(index: index) }
        return Attributes.of(message, fixedBytes: MemoryLayout<ifinfomsg>.size, highest: 64) { attributes in
            // Wireless extensions repeat a link without its attributes.
            if header.ifi_change == 0, attributes.bytes(Int(IFLA_WIRELESS)) != nil { return .ignored }
            return self.link(header, index, attributes).map { .link($0) }
        }
    }

    private static func link(_ header: ifinfomsg, _ index: UInt32, _ attributes: Attributes) -> KernelLink? {
        guard let name = attributes.text(Int(IFLA_IFNAME)), !name.isEmpty else { return nil }
        let states: [Link.OperState] = [.unknown, .notPresent, .down, .lowerLayerDown, .testing, .dormant, .up]
        let state = Int(attributes.byte(Int(IFLA_OPERSTATE)) ?? 0)
        let kind = attributes.nested(Int(IFLA_LINKINFO), highest: 8) { $0.text(Int(IFLA_INFO_KIND)) }
        var link = KernelLink(
            index: index, name: name, flags: header.ifi_flags,
            operState: states.indices.contains(state) ? states[state] : .unknown, hardwareType: header.ifi_type,
            infoKind: kind, master: attributes.word(Int(IFLA_MASTER)),
            carrierLosses: attributes.word(Int(TG_IFLA_CARRIER_DOWN_COUNT)))
        // An index of another namespace means nothing here.
        if attributes.bytes(Int(IFLA_LINK_NETNSID)) == nil, let lower = attributes.word(Int(IFLA_LINK)), lower != index
        {
            link.lower = lower == 0 ? nil : lower
        }
        if kind == "vrf" { link.vrfTable = self.vrfTable(attributes) }
        if let list = attributes.bytes(Int(IFLA_PROP_LIST)) { link.alternativeNames = self.names(list) }
        return link
    }

    private static func vrfTable(_ attributes: Attributes) -> UInt32? {
        attributes.nested(Int(IFLA_LINKINFO), highest: 8) { info in
            info.nested(Int(IFLA_INFO_DATA), highest: 1) { $0.word(Int(IFLA_VRF_TABLE)) }
        }
    }

    // One attribute of the same type for each name.
    private static func names(_ list: UnsafeRawBufferPointer) -> [String] {
        var names: [String] = []
        _ = Attributes.each(list) { type, bytes in
            guard type == Int(IFLA_ALT_IFNAME) else { return }
            names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
        return names
    }
}

/// Decodes RTM_NEWADDR and RTM_DELADDR.
enum AddressDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> KernelAddress? {
        guard let header = MessageDecoder.body(message, as: ifaddrmsg.self), header.ifa_index > 0 else { return nil }
        return Attributes.of(message, fixedBytes: MemoryLayout<ifaddrmsg>.size, highest: 16) { attributes in
            // On point-to-point links IFA_ADDRESS is the other end.
            let remote = attributes.address(Int(IFA_ADDRESS))
            guard let local = attributes.address(Int(IFA_LOCAL)) ?? remote,
                let prefix = IPPrefix(local, length: Int(header.ifa_prefixlen))
            else { return nil }
            var flags = attributes.word(Int(IFA_FLAGS)) ?? UInt32(header.ifa_flags)
            // The kernel marks a deprecated address by either of the two, and alternates between them.
            if let lifetimes = attributes.bytes(Int(IFA_CACHEINFO)), lifetimes.count >= 4,
                lifetimes.loadUnaligned(as: UInt32.self) == 0
            {
                flags |= KernelAddress.flagDeprecated
            }
            return KernelAddress(
                link: header.ifa_index, prefix: prefix, peer: remote == local ? nil : remote, flags: flags)
        }
    }
}

/// Decodes RTM_NEWNEIGH and RTM_DELNEIGH.
enum NeighbourDecoder {
    /// The entry; a removed one has the state `none`.
    ///
    /// Nil for other messages and for forwarding entries of bridges.
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> KernelNeighbour? {
        let type = Int(message.pointee.nlmsg_type)
        guard type == RTM_NEWNEIGH || type == RTM_DELNEIGH,
            let header = MessageDecoder.body(message, as: ndmsg.self), header.ndm_ifindex > 0,
            [UInt8(AF_INET), UInt8(AF_INET6)].contains(header.ndm_family), header.ndm_flags & UInt8(NTF_PROXY) == 0
        else { return nil }
        return Attributes.of(message, fixedBytes: MemoryLayout<ndmsg>.size, highest: Int(NDA_LINK_NETNSID)) {
            guard let address = $0.address(Int(NDA_DST)) else { return nil }
            return KernelNeighbour(
                address: address, link: UInt32(header.ndm_ifindex),
                state: type == RTM_DELNEIGH ? .none : KernelNeighbour.State(bits: header.ndm_state),
                linkLayerAddress: $0.bytes(Int(NDA_LLADDR)).flatMap(self.text),
                confirmedAge: $0.bytes(Int(NDA_CACHEINFO)).flatMap(self.confirmedAge))
        }
    }

    // `struct nda_cacheinfo` begins with ndm_confirmed, in ticks of USER_HZ, which is 100 everywhere (times(2)).
    private static func confirmedAge(_ bytes: UnsafeRawBufferPointer) -> Duration? {
        guard bytes.count >= 4 else { return nil }
        return .milliseconds(10) * Int(bytes.loadUnaligned(as: UInt32.self))
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard !bytes.isEmpty else { return nil }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }
}

/// Decodes the answer to RTM_GETNETCONF.
enum NetconfDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> KernelSettings? {
        guard Int(message.pointee.nlmsg_type) == RTM_NEWNETCONF else { return nil }
        return Attributes.of(
            message, fixedBytes: MemoryLayout<netconfmsg>.size, highest: Int(NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN)
        ) {
            KernelSettings(
                reversePathFilter: $0.word(Int(NETCONFA_RP_FILTER)).map { Int(Int32(bitPattern: $0)) },
                ignoresLinkdown: $0.word(Int(NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN)).map { $0 != 0 })
        }
    }
}
