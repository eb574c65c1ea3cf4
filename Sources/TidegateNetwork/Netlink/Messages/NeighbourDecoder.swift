internal import CNetlink
internal import Glibc
internal import TidegateCore

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
