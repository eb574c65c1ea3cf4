/// Something that happened, told once.
public struct Event: Sendable {
    /// Counts the events of one bus from 1.
    public let sequence: UInt64
    /// When it was published, on the wall clock.
    public let time: WallTime
    /// When it was published, on the monotonic clock.
    public let moment: MonotonicTime
    /// What happened.
    public let occurrence: Occurrence

    /// An event from its parts; a bus makes them.
    public init(sequence: UInt64, time: WallTime, moment: MonotonicTime, occurrence: Occurrence) {
        self.sequence = sequence
        self.time = time
        self.moment = moment
        self.occurrence = occurrence
    }
}

/// What happened, by topic.
public enum Occurrence: Sendable {
    /// A verdict changed.
    indirect case path(PathEvent)
    /// A link changed.
    indirect case link(LinkEvent)
    /// The monitor heard the kernel, or missed something.
    case netlink(NetlinkEvent)
    /// A task moved.
    case task(TaskEvent)
    /// A session moved.
    case session(SessionEvent)
    /// The daemon did something.
    case daemon(DaemonEvent)

    /// The occurrence's topic.
    public var topic: Topic {
        switch self {
        case .path: .path
        case .link: .link
        case .netlink: .netlink
        case .task: .task
        case .session: .session
        case .daemon: .daemon
        }
    }

    /// The topics of events, as labels give them.
    public enum Topic: String, Sendable, MetricLabel {
        case path, link, netlink, task, session, probe, daemon
    }
}
