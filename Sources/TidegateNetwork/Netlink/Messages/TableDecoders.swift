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
        guard let attributes = Attributes(message, fixedBytes: MemoryLayout<ifinfomsg>.size) else { return nil }
        // Wireless extensions repeat a link without its attributes.
        if header.ifi_change == 0, attributes[IFLA_WIRELESS] != nil { return .ignored }
        return self.link(header, index, attributes).map { .link($0) }
    }

    private static func link(_ header: ifinfomsg, _ index: UInt32, _ attributes: Attributes) -> KernelLink? {
        guard let name = attributes[IFLA_IFNAME]?.text, !name.isEmpty else { return nil }
        let states: [Link.OperState] = [.unknown, .notPresent, .down, .lowerLayerDown, .testing, .dormant, .up]
        let state = Int(attributes[IFLA_OPERSTATE]?.first ?? 0)
        let info = attributes[IFLA_LINKINFO].map(Attributes.init)
        let kind = info?[IFLA_INFO_KIND]?.text
        var link = KernelLink(
            index: index, name: name, flags: header.ifi_flags,
            operState: states.indices.contains(state) ? states[state] : .unknown, hardwareType: header.ifi_type,
            infoKind: kind, master: attributes[IFLA_MASTER]?.word,
            carrierLosses: attributes[TG_IFLA_CARRIER_DOWN_COUNT]?.word)
        // An index of another namespace is meaningless here.
        if attributes[IFLA_LINK_NETNSID] == nil, let lower = attributes[IFLA_LINK]?.word, lower != index {
            link.lower = lower == 0 ? nil : lower
        }
        if kind == "vrf" { link.vrfTable = info?[IFLA_INFO_DATA].flatMap { Attributes($0)[IFLA_VRF_TABLE]?.word } }
        // Each name has its own attribute of this type.
        _ = attributes[IFLA_PROP_LIST].map(Attributes.init)?.each { type, bytes in
            if type == Int(IFLA_ALT_IFNAME) { link.alternativeNames.append(bytes.text) }
        }
        return link
    }
}

/// Decodes RTM_NEWADDR and RTM_DELADDR.
enum AddressDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> KernelAddress? {
        guard let header = MessageDecoder.body(message, as: ifaddrmsg.self), header.ifa_index > 0,
            let attributes = Attributes(message, fixedBytes: MemoryLayout<ifaddrmsg>.size)
        else { return nil }
        // On point-to-point links IFA_ADDRESS is the other end.
        let remote = attributes[IFA_ADDRESS]?.address
        guard let local = attributes[IFA_LOCAL]?.address ?? remote,
            let prefix = IPPrefix(local, length: Int(header.ifa_prefixlen))
        else { return nil }
        var flags = attributes[IFA_FLAGS]?.word ?? UInt32(header.ifa_flags)
        // The kernel marks a deprecated address by either of the two, and alternates between them.
        if attributes[IFA_CACHEINFO]?.word == 0 { flags |= KernelAddress.flagDeprecated }
        return KernelAddress(
            link: header.ifa_index, prefix: prefix, peer: remote == local ? nil : remote, flags: flags)
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
            [UInt8(AF_INET), UInt8(AF_INET6)].contains(header.ndm_family), header.ndm_flags & UInt8(NTF_PROXY) == 0,
            let attributes = Attributes(message, fixedBytes: MemoryLayout<ndmsg>.size),
            let address = attributes[NDA_DST]?.address
        else { return nil }
        return KernelNeighbour(
            address: address, link: UInt32(header.ndm_ifindex),
            state: type == RTM_DELNEIGH ? .none : KernelNeighbour.State(bits: header.ndm_state),
            linkLayerAddress: attributes[NDA_LLADDR].flatMap(self.text),
            // `struct nda_cacheinfo` begins with ndm_confirmed, in ticks of USER_HZ, which is 100 everywhere
            // (times(2)).
            confirmedAge: attributes[NDA_CACHEINFO]?.word.map { .milliseconds(10) * Int($0) })
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard !bytes.isEmpty else { return nil }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }
}

/// Decodes the answer to RTM_GETNETCONF.
enum NetconfDecoder {
    static func decode(_ message: UnsafeMutablePointer<nlmsghdr>) -> KernelSettings? {
        guard Int(message.pointee.nlmsg_type) == RTM_NEWNETCONF,
            let attributes = Attributes(message, fixedBytes: MemoryLayout<netconfmsg>.size)
        else { return nil }
        return KernelSettings(
            reversePathFilter: attributes[NETCONFA_RP_FILTER]?.word.map { Int(Int32(bitPattern: $0)) },
            ignoresLinkdown: attributes[NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN]?.word.map { $0 != 0 })
    }
}
