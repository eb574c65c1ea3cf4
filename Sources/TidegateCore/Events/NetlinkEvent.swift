/// What the monitor read from the kernel, or missed.
public enum NetlinkEvent: Sendable {
    /// Multicast messages of one type, read in one batch.
    case received(MessageType, count: Int)
    /// The kernel dropped messages because the receive buffer was full.
    case overrun
    /// A full dump is complete.
    case resynced(ResyncReason, duration: Duration)
    /// The kernel interrupted a dump.
    case dumpInterrupted
    /// Malformed messages.
    case malformed(count: Int)
    /// Route lookups were made.
    case lookedUp(count: Int)
    /// The monitor learns of changes by another mode from now on.
    case modeChanged(ReachabilityStatus.Mode)
    /// The receive buffer's effective size in bytes.
    case receiveBuffer(bytes: Int)
    /// The netlink socket failed; the error's text. The monitor reconnects.
    case lost(String)

    /// The kinds of multicast messages (rtnetlink(7)).
    public enum MessageType: String, Sendable, MetricLabel {
        case newlink, dellink, newaddr, deladdr, newroute, delroute, newrule, delrule, newnexthop, delnexthop, newneigh,
            delneigh, netconf, other
    }

    /// Why a full dump was made.
    public enum ResyncReason: String, Sendable, MetricLabel {
        case startup, overrun, interrupted, periodic
        /// The machine was suspended; changes in the meantime were not reported.
        case resume
    }
}
