package import TidegateCore

/// A message of the kernel's, decoded.
package enum NetlinkMessage: Sendable, Hashable {
    case link(KernelLink)
    case linkGone(index: UInt32)
    case address(KernelAddress)
    case addressGone(KernelAddress)
    /// A route: the answer to a lookup, or news that routes have changed.
    case route(KernelRoute)
    /// A route is gone.
    case routeGone
    /// Rules, nexthops, neighbours, settings: only that something changed.
    case news(NetlinkEvent.MessageType)
    /// A request failed.
    case refused(errno: Int32, hasText: Bool)
    /// A dump is over; a negative errno where it failed half way.
    case done(errno: Int32)
    /// NLMSG_OVERRUN: the kernel lost something.
    case overrun
    /// Well-formed and of no interest: bridge ports, wireless extensions, no-ops.
    case ignored

    /// The message as the counters name it; nil for answers.
    package var multicastType: NetlinkEvent.MessageType? {
        switch self {
        case .link: .newlink
        case .linkGone: .dellink
        case .address: .newaddr
        case .addressGone: .deladdr
        case .route: .newroute
        case .routeGone: .delroute
        case .news(let type): type
        case .ignored: .other
        case .refused, .done, .overrun: nil
        }
    }
}

/// A message with what its header says.
package struct NetlinkEnvelope: Sendable, Hashable {
    /// The sequence number of the request it answers.
    package var sequence: UInt32
    /// NLM_F_DUMP_INTR: the table changed while it was dumped.
    package var isInterrupted: Bool
    /// The message; nil where it makes no sense.
    package var message: NetlinkMessage?
}
