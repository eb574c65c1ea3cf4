/// Something that happened, told once.
public struct Event: Sendable {
    /// Counts the events of one bus from 1.
    public let sequence: UInt64
    /// When it was published, on the wall clock, which is asked once a millisecond.
    public let time: WallTime
    /// When it was published, on the monotonic clock.
    public let moment: MonotonicTime
    /// The task that it is about; ``TaskID/none`` where it is about none.
    package let task: TaskID
    /// What happened, without the task's id.
    package let fact: Fact

    /// An event from its parts; a bus makes them.
    public init(sequence: UInt64, time: WallTime, moment: MonotonicTime, occurrence: Occurrence) {
        self.sequence = sequence
        self.time = time
        self.moment = moment
        switch occurrence {
        case .path(let path): (self.task, self.fact) = (.none, .path(path))
        case .link(let link): (self.task, self.fact) = (.none, .link(link))
        case .netlink(let netlink): (self.task, self.fact) = (.none, .netlink(netlink))
        case .task(let event): (self.task, self.fact) = (event.id, .task(event.change, event.kind))
        case .session(let session): (self.task, self.fact) = (.none, .session(session))
        case .daemon(let daemon): (self.task, self.fact) = (.none, .daemon(daemon))
        }
    }

    /// What happened.
    public var occurrence: Occurrence {
        switch self.fact {
        case .path(let path): .path(path)
        case .link(let link): .link(link)
        case .netlink(let netlink): .netlink(netlink)
        case .task(let change, let kind): .task(TaskEvent(id: self.task, kind: kind, change: change))
        case .session(let session): .session(session)
        case .daemon(let daemon): .daemon(daemon)
        }
    }

    /// An occurrence without the task's id, for those who look at every event.
    ///
    /// It fits the registers that it is handed on in, and the large cases are boxed: telling the cases apart copies
    /// nothing. An occurrence as a whole is copied for each look into it.
    package enum Fact: Sendable {
        indirect case path(PathEvent)
        indirect case link(LinkEvent)
        case netlink(NetlinkEvent)
        case task(TaskEvent.Change, TaskKind)
        case session(SessionEvent)
        case daemon(DaemonEvent)
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
