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
        /// This host's diagnosis changed.
        indirect case diagnosis(HostDiagnosis)
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
            case .path, .diagnosis, .targetCheck: .path
            case .link: .link
            case .netlink: .netlink
            case .task: .task
            case .session: .session
            case .probe: .probe
            case .connection: .connection
            case .daemon: .daemon
            }
        }

        // MARK: Each payload

        var projection: EventProjection {
            switch self {
            case .path(let path): path.projection
            case .diagnosis(let diagnosis): diagnosis.projection
            case .targetCheck(let check): check.projection
            case .link(let link): link.projection
            case .netlink(let netlink): netlink.projection
            case .task(let task): task.projection
            case .session(let session): session.projection
            case .probe(let probe): probe.projection
            case .connection(let connection): connection.projection
            case .daemon(let daemon): daemon.projection
            }
        }

        /// What happened, as a clause for people; a task's event leaves out which task it was.
        package var sentence: String {
            switch self {
            case .path(let path): path.sentence()
            case .diagnosis(let diagnosis): diagnosis.sentence
            case .targetCheck(let check): check.sentence
            case .link(let link): link.sentence
            case .netlink(let netlink): netlink.sentence
            case .task(let task): task.kind.sentence
            case .session(let session): session.sentence
            case .probe(let probe): probe.sentence
            case .connection(let connection): connection.sentence
            case .daemon(let daemon): daemon.sentence
            }
        }
    }

    /// The topics of events, as labels give them.
    public enum Topic: String, Sendable, MetricLabel {
        case path, link, netlink, task, session, probe, connection, daemon
    }

    /// The most selective place that shows an event.
    ///
    /// The places before it in this list show it, too: an event of `page` is also in the history, in the log and in
    /// metrics.
    package enum Relevance: Sendable, Comparable {
        /// Counted by metrics, and nothing else: it comes too often.
        case metrics
        /// Logged, but not kept: answered requests would push everything else out of the history within minutes.
        case log
        /// Kept in the history, and sent to those who follow it.
        case history
        /// Shown on the status page.
        case page
    }

    /// The most selective place that shows this event.
    package var relevance: Relevance {
        switch self.payload {
        // The first verdicts of families and targets follow from the start, not from a change.
        case .path(let path): path.from.level == .unknown && path.scope != .global ? .history : .page
        case .diagnosis(let diagnosis): diagnosis.state == .checking ? .history : .page
        // A target's level says what follows from it; every check by itself would fill the history.
        case .targetCheck(let check): check.isNews ? .history : .metrics
        case .link, .session: .page
        case .probe(let probe): Self.relevance(of: probe.kind)
        case .connection(.dropped): .history
        case .connection: .page
        case .netlink(let netlink): Self.relevance(of: netlink)
        case .task(let task): Self.relevance(of: task.kind)
        case .daemon(.requestAnswered), .daemon(.journal(.committed)): .log
        case .daemon(.remoteWrite(let event)): event.isNews ? .page : .log
        case .daemon: .page
        }
    }

    private static func relevance(of probe: ProbeEvent.Kind) -> Relevance {
        switch probe {
        // Every run by itself would fill the history.
        case .finished(let outcome): outcome.isNews ? .page : .metrics
        case .added, .removed: .log
        case .overrun: .metrics
        }
    }

    private static func relevance(of netlink: NetlinkEvent) -> Relevance {
        switch netlink {
        case .received, .lookedUp, .receiveBuffer: .metrics
        case .resynced, .dumpInterrupted, .malformed: .history
        case .overrun, .lost, .modeChanged: .page
        }
    }

    private static func relevance(of task: TaskEvent.Kind) -> Relevance {
        switch task {
        case .progress: .metrics
        case .created, .resumed, .suspended, .held, .released, .gate, .attemptStarted, .responseHead,
            .attemptSucceeded, .retryScheduled, .retriesExhausted, .continued, .refetched, .moved:
            .history
        case .attemptFailed, .completed, .restarted, .moveFailed: .page
        }
    }

    // MARK: JSON

    /// How much an event matters to an operator; `trace` is counted only, and never logged.
    public enum Level: Sendable, CaseIterable, Comparable {
        case trace, debug, info, warning, error
    }

    /// The topic and what happened, as JSON names it: `path.changed`, `task.completed`, `session.epochBegan`.
    public var name: String { self.projection.name }

    /// How much the event matters.
    public var level: Level { self.projection.level }

    /// What happened, as a clause for people, without a full stop; a task's event leaves out which task it was.
    public var sentence: String { self.payload.sentence }

    /// What else is known, as text, by the names of JSON; `redaction` applies to every URL.
    public func fields(redaction: URLRedaction = URLRedaction()) -> [String: String] {
        var fields: [String: String] = [:]
        for field in self.projection.fields {
            guard let key = field.key else { continue }
            switch field.value.json(redaction) {
            case .null: break
            case .string(let text): fields[key] = text
            case let value: fields[key] = value.description
            }
        }
        return fields
    }

    /// The event as logs and JSON show it.
    package var projection: EventProjection { self.payload.projection }

    /// The object that `GET /api/v1/events`, `watch --json` and `tasks watch --json` give; `redaction` applies to every
    /// URL.
    ///
    /// Every object begins with `schema`, `event`, `seq` and `time`.
    package func json(redaction: URLRedaction = URLRedaction()) -> JSONValue {
        let projection = self.projection
        let start: [JSONValue.Member] = [
            .init("schema", 1), .init("event", .string(projection.name)),
            .init("seq", .integer(Int64(clamping: self.sequence))), .init("time", .string(self.time.description)),
        ]
        let members = projection.fields.compactMap { field in
            field.key.map { JSONValue.Member($0, field.value.json(redaction)) }
        }
        return .object(start + members)
    }
}
