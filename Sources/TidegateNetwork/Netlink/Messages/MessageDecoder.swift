internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Turns datagrams of the kernel's into values; any bytes are safe to give it.
package enum MessageDecoder {
    /// Decodes every message of a datagram; a rest that is no message comes back as an envelope without one.
    package static func decode(_ datagram: [UInt8]) -> [NetlinkEnvelope] {
        var envelopes: [NetlinkEnvelope] = []
        datagram.withUnsafeBytes { self.decode($0) { envelopes.append($0) } }
        return envelopes
    }

    /// Decodes every message of a datagram; with `routesAsNews`, only that routes have changed.
    static func decode(
        _ datagram: UnsafeRawBufferPointer, routesAsNews: Bool = false, _ body: (NetlinkEnvelope) -> Void
    ) {
        let isWhole = self.each(datagram) { message in
            body(
                NetlinkEnvelope(
                    sequence: message.pointee.nlmsg_seq,
                    isInterrupted: message.pointee.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0,
                    message: self.decode(message, routesAsNews: routesAsNews)))
        }
        if !isWhole { body(NetlinkEnvelope(sequence: 0, isInterrupted: false, message: nil)) }
    }

    /// Hands over the messages of a datagram; false where a rest is no message.
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
            guard case .refused(let code, let hasText) = self.refusal(message) else { return nil }
            return .refused(errno: code, hasText: hasText)
        default: return nil
        }
    }

    private static func decode(_ message: UnsafeMutablePointer<nlmsghdr>, routesAsNews: Bool) -> NetlinkMessage? {
        switch Int(message.pointee.nlmsg_type) {
        case Int(NLMSG_ERROR): self.refusal(message)
        case Int(NLMSG_DONE): .done(errno: self.body(message, as: Int32.self) ?? 0)
        case Int(NLMSG_OVERRUN): .overrun
        case RTM_NEWLINK: LinkDecoder.decode(message, isGone: false)
        case RTM_DELLINK: LinkDecoder.decode(message, isGone: true)
        case RTM_NEWADDR: AddressDecoder.decode(message).map { .address($0) }
        case RTM_DELADDR: AddressDecoder.decode(message).map { .addressGone($0) }
        case RTM_NEWROUTE where routesAsNews: .news(.newroute)
        case RTM_NEWROUTE: RouteDecoder.decode(message).map { .route($0) }
        case RTM_DELROUTE: .routeGone
        case let type: self.news[type].map { .news($0) } ?? .ignored
        }
    }

    private static let news: [Int: NetlinkEvent.MessageType] = [
        RTM_NEWRULE: .newrule, RTM_DELRULE: .delrule, RTM_NEWNEXTHOP: .newnexthop, RTM_DELNEXTHOP: .delnexthop,
        RTM_NEWNEIGH: .newneigh, RTM_DELNEIGH: .delneigh, RTM_NEWNETCONF: .netconf, RTM_DELNETCONF: .netconf,
    ]

    /// The fixed part of a message; nil where the message is too short for it.
    static func body<Body>(_ message: UnsafeMutablePointer<nlmsghdr>, as type: Body.Type) -> Body? {
        guard nlmsg_valid_hdr(message, Int32(MemoryLayout<Body>.size)) != 0, let start = tg_body(message) else {
            return nil
        }
        return start.loadUnaligned(as: Body.self)
    }

    // struct nlmsgerr: the error, then the header of the request, then (NLM_F_ACK_TLVS, with CAP_ACK) attributes.
    private static func refusal(_ message: UnsafeMutablePointer<nlmsghdr>) -> NetlinkMessage? {
        guard let error = self.body(message, as: nlmsgerr.self) else { return nil }
        let isCapped = message.pointee.nlmsg_flags & UInt16(NLM_F_CAPPED) != 0
        let hasAttributes = message.pointee.nlmsg_flags & UInt16(NLM_F_ACK_TLVS) != 0
        let echoed = isCapped ? 0 : Int(error.msg.nlmsg_len) - MemoryLayout<nlmsghdr>.size
        guard hasAttributes, (0..<Int(Int16.max)).contains(echoed) else {
            return .refused(errno: -error.error, hasText: false)
        }
        let fixed = MemoryLayout<nlmsgerr>.size + (echoed + 3) / 4 * 4
        let text = Attributes.of(message, fixedBytes: fixed, highest: Int(NLMSGERR_ATTR_MAX.rawValue)) {
            $0.text(Int(NLMSGERR_ATTR_MSG.rawValue))
        }
        return .refused(errno: -error.error, hasText: text != nil)
    }
}
