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
                "netlink.received", .trace, "netlink messages",
                "\(count) netlink messages of type \(type.rawValue)",
                [.both("type", type.rawValue), .both("count", count)])
        case .overrun:
            EventProjection(
                "netlink.overrun", .warning, "netlink overrun, resynchronizing",
                "the kernel dropped messages; everything is read again")
        case .resynced(let reason, let duration):
            EventProjection(
                "netlink.resynced", .debug, "netlink dump completed", "everything was read from the kernel again",
                [.both("reason", reason.rawValue), .both("durationSeconds", duration, log: "duration")])
        case .dumpInterrupted:
            EventProjection(
                "netlink.dumpInterrupted", .debug, "netlink dump interrupted, repeating",
                "the kernel interrupted a dump; it is repeated")
        case .malformed(let count):
            EventProjection(
                "netlink.malformed", .warning, "malformed netlink messages", "\(count) malformed netlink messages",
                [.both("count", count)])
        case .lookedUp(let count):
            EventProjection(
                "netlink.lookedUp", .trace, "route lookups", "\(count) route lookups", [.both("count", count)])
        case .modeChanged(let mode):
            EventProjection(
                "netlink.modeChanged", mode == .event || mode == .once ? .info : .warning, "monitor mode changed",
                "watching by \(mode)", [.both("mode", mode.rawValue)])
        case .receiveBuffer(let bytes):
            EventProjection(
                "netlink.receiveBuffer", .trace, "netlink receive buffer",
                "the netlink receive buffer has \(ByteText(Int64(bytes)))", [.both("bytes", bytes)])
        case .lost(let text):
            EventProjection(
                "netlink.lost", .warning, "netlink unavailable; level is unknown and gates are open",
                "\(UnreachableReason.monitorDown): \(text)", [.both("error", text)])
        }
    }

    var relevance: Event.Relevance {
        switch self {
        case .received, .lookedUp, .receiveBuffer: .metrics
        case .resynced, .dumpInterrupted, .malformed: .history
        case .overrun, .lost, .modeChanged: .page
        }
    }
}
