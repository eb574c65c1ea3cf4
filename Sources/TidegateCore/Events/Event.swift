/// Something that happened, published once.
public struct Event: Sendable {
    /// Counts the events of one bus from 1.
    public let sequence: UInt64
    /// When it was published, on the wall clock, which is read once a millisecond.
    public let time: WallTime
    /// When it was published, on the monotonic clock.
    package let moment: MonotonicTime
    /// What happened.
    public let payload: Payload

    /// What happened, by topic.
    public enum Payload: Sendable {
        /// A verdict changed.
        indirect case path(PathEvent)
        /// A check of a configured target ended.
        indirect case targetCheck(TargetCheckEvent)
        /// A link changed.
        indirect case link(LinkEvent)
        /// The kernel sent messages, or dropped some.
        case netlink(NetlinkEvent)
        /// Something happened to a task.
        case task(TaskEvent)
        /// Something happened to a scheduled probe.
        indirect case probe(ProbeEvent)
        /// Something was observed of the connections of other programs.
        indirect case connection(ConnectionEvent)
        /// Something happened to a session as a whole.
        case session(SessionEvent)
        /// The daemon did something.
        case daemon(DaemonEvent)

        /// The payload's topic.
        package var topic: Topic {
            switch self {
            case .path, .targetCheck: .path
            case .link: .link
            case .netlink: .netlink
            case .task: .task
            case .session: .session
            case .probe: .probe
            case .connection: .connection
            case .daemon: .daemon
            }
        }
    }

    /// The topics of events, as labels give them.
    public enum Topic: String, Sendable, MetricLabel {
        case path, link, netlink, task, session, probe, connection, daemon
    }
}
