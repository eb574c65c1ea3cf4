internal import CNetlink
internal import Glibc
package import TidegateCore

/// Decodes the kernel's datagrams; safe for any bytes.
package enum MessageDecoder {
    /// Decodes every message of a datagram; without `decodesRoutes`, a route is only reported as changed.
    static func decode(
        _ datagram: UnsafeRawBufferPointer, decodesRoutes: Bool = true, _ body: (NetlinkEnvelope) -> Void
    ) {
        let isWhole = self.each(datagram) { message in
            body(
                NetlinkEnvelope(
                    sequence: message.pointee.nlmsg_seq,
                    isInterrupted: message.pointee.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0,
                    message: self.decode(message, decodesRoutes: decodesRoutes)))
        }
        if !isWhole { body(NetlinkEnvelope(sequence: 0, isInterrupted: false, message: nil)) }
    }

    /// Passes on the messages of a datagram; false if trailing bytes are not a message.
    static func each(_ datagram: UnsafeRawBufferPointer, _ body: (UnsafeMutablePointer<nlmsghdr>) -> Void) -> Bool {
        guard let start = datagram.baseAddress else { return true }
        var header = tg_message(start)
        var remaining = Int32(clamping: datagram.count)
        while let message = header, nlmsg_ok(message, remaining) != 0 {
            body(message)
            header = nlmsg_next(message, &remaining)
        }
        // nlmsg_next counts the padding of the last message too, which may be missing.
        return remaining <= 0
    }

    /// The answer to a lookup; nil for any other message.
    static func answer(_ message: UnsafeMutablePointer<nlmsghdr>) -> RouteLookup.Answer? {
        switch Int(message.pointee.nlmsg_type) {
        case RTM_NEWROUTE: return RouteDecoder.decode(message).map { .route($0) }
        case Int(NLMSG_ERROR):
            guard case .error(let code, let hasText) = self.error(message) else { return nil }
            return .refused(errno: code, hasText: hasText)
        default: return nil
        }
    }

    private static func decode(_ message: UnsafeMutablePointer<nlmsghdr>, decodesRoutes: Bool) -> NetlinkMessage? {
        switch Int(message.pointee.nlmsg_type) {
        case Int(NLMSG_ERROR): self.error(message)
        case Int(NLMSG_DONE): .done(errno: self.body(message, as: Int32.self) ?? 0)
        case Int(NLMSG_OVERRUN): .overrun
        case RTM_NEWLINK: LinkDecoder.decode(message, isGone: false)
        case RTM_DELLINK: LinkDecoder.decode(message, isGone: true)
        case RTM_NEWADDR: AddressDecoder.decode(message).map { .address($0) }
        case RTM_DELADDR: AddressDecoder.decode(message).map { .addressGone($0) }
        case RTM_NEWROUTE where !decodesRoutes: .changed(.newroute)
        case RTM_NEWROUTE: RouteDecoder.decode(message).map { .route($0) }
        case RTM_DELROUTE: .routeGone
        case let type: self.changes[type].map { .changed($0) } ?? .ignored
        }
    }

    private static let changes: [Int: NetlinkEvent.MessageType] = [
        RTM_NEWRULE: .newrule, RTM_DELRULE: .delrule, RTM_NEWNEXTHOP: .newnexthop, RTM_DELNEXTHOP: .delnexthop,
        RTM_NEWNEIGH: .newneigh, RTM_DELNEIGH: .delneigh, RTM_NEWNETCONF: .netconf, RTM_DELNETCONF: .netconf,
    ]

    /// The fixed part of a message; nil if the message is too short for it.
    static func body<Body>(_ message: UnsafeMutablePointer<nlmsghdr>, as type: Body.Type) -> Body? {
        guard nlmsg_valid_hdr(message, Int32(MemoryLayout<Body>.size)) != 0, let start = tg_body(message) else {
            return nil
        }
        return start.loadUnaligned(as: Body.self)
    }

    // struct nlmsgerr: the error, then the header of the request, then (NLM_F_ACK_TLVS, with CAP_ACK) attributes.
    private static func error(_ message: UnsafeMutablePointer<nlmsghdr>) -> NetlinkMessage? {
        guard let error = self.body(message, as: nlmsgerr.self) else { return nil }
        let isCapped = message.pointee.nlmsg_flags & UInt16(NLM_F_CAPPED) != 0
        let hasAttributes = message.pointee.nlmsg_flags & UInt16(NLM_F_ACK_TLVS) != 0
        let echoed = isCapped ? 0 : Int(error.msg.nlmsg_len) - MemoryLayout<nlmsghdr>.size
        guard hasAttributes, (0..<Int(Int16.max)).contains(echoed) else {
            return .error(errno: 0 &- error.error, hasText: false)
        }
        let fixed = MemoryLayout<nlmsgerr>.size + (echoed + 3) / 4 * 4
        let text = Attributes(message, fixedBytes: fixed)?[NLMSGERR_ATTR_MSG.rawValue]
        return .error(errno: 0 &- error.error, hasText: text != nil)
    }
}

/// A decoded message.
package enum NetlinkMessage: Sendable, Hashable {
    case link(KernelLink)
    case linkGone(index: UInt32)
    case address(KernelAddress)
    case addressGone(KernelAddress)
    /// A route: the answer to a lookup, or a changed one.
    case route(KernelRoute)
    /// A route was removed.
    case routeGone
    /// Rules, nexthops, neighbours, settings: something changed.
    case changed(NetlinkEvent.MessageType)
    /// A request failed (NLMSG_ERROR).
    case error(errno: Int32, hasText: Bool)
    /// A dump ended; a negative errno if it failed part way.
    case done(errno: Int32)
    /// NLMSG_OVERRUN: the kernel dropped messages.
    case overrun
    /// A well-formed message that is not used: bridge ports, wireless extensions, no-ops.
    case ignored

    /// The type under which the message is counted; nil for answers.
    package var multicastType: NetlinkEvent.MessageType? {
        switch self {
        case .link: .newlink
        case .linkGone: .dellink
        case .address: .newaddr
        case .addressGone: .deladdr
        case .route: .newroute
        case .routeGone: .delroute
        case .changed(let type): type
        case .ignored: .other
        case .error, .done, .overrun: nil
        }
    }
}

/// A message with the values of its header.
package struct NetlinkEnvelope: Sendable, Hashable {
    /// The sequence number of the request it answers.
    package var sequence: UInt32
    /// NLM_F_DUMP_INTR: the table changed while it was dumped.
    package var isInterrupted: Bool
    /// The message; nil if it is malformed.
    package var message: NetlinkMessage?
}
