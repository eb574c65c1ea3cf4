package import TidegateCore

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
    /// Well-formed and not used: bridge ports, wireless extensions, no-ops.
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

/// A message with what its header contains.
package struct NetlinkEnvelope: Sendable, Hashable {
    /// The sequence number of the request it answers.
    package var sequence: UInt32
    /// NLM_F_DUMP_INTR: the table changed while it was dumped.
    package var isInterrupted: Bool
    /// The message; nil if it is malformed.
    package var message: NetlinkMessage?
}
