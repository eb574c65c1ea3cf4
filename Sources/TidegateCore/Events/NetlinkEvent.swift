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

    var projection: EventProjection {
        switch self {
        case .received(let type, let count):
            EventProjection(
                "netlink.received", .trace, "netlink messages", [.both("type", type.rawValue), .both("count", count)])
        case .overrun:
            EventProjection("netlink.overrun", .warning, "netlink overrun, resynchronizing")
        case .resynced(let reason, let duration):
            EventProjection(
                "netlink.resynced", .debug, "netlink dump completed",
                [.both("reason", reason.rawValue), .both("durationSeconds", duration, log: "duration")])
        case .dumpInterrupted:
            EventProjection("netlink.dumpInterrupted", .debug, "netlink dump interrupted, repeating")
        case .malformed(let count):
            EventProjection("netlink.malformed", .warning, "malformed netlink messages", [.both("count", count)])
        case .lookedUp(let count):
            EventProjection("netlink.lookedUp", .trace, "route lookups", [.both("count", count)])
        case .modeChanged(let mode):
            EventProjection(
                "netlink.modeChanged", mode == .event || mode == .once ? .info : .warning, "monitor mode changed",
                [.both("mode", mode.rawValue)])
        case .receiveBuffer(let bytes):
            EventProjection("netlink.receiveBuffer", .trace, "netlink receive buffer", [.both("bytes", bytes)])
        case .lost(let text):
            EventProjection(
                "netlink.lost", .warning, "netlink unavailable; level is unknown and gates are open",
                [.both("error", text)])
        }
    }

    var sentence: String {
        switch self {
        case .received(let type, let count): "\(count) netlink messages of type \(type.rawValue)"
        case .overrun: "the kernel dropped messages; everything is read again"
        case .resynced: "everything was read from the kernel again"
        case .dumpInterrupted: "the kernel interrupted a dump; it is repeated"
        case .malformed(let count): "\(count) malformed netlink messages"
        case .lookedUp(let count): "\(count) route lookups"
        case .modeChanged(let mode): "watching by \(mode)"
        case .receiveBuffer(let bytes): "the netlink receive buffer has \(ByteText(Int64(bytes)))"
        case .lost(let error): "\(UnreachableReason.monitorDown): \(error)"
        }
    }
}
