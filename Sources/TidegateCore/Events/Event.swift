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
        /// The way out or a target became slow, or is not slow any more.
        indirect case quality(QualityEvent)
        /// The state of a way out that is not used changed.
        indirect case uplink(UplinkEvent)
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
        /// Something happened to an incident.
        indirect case incident(IncidentEvent)
        /// The daemon did something.
        case daemon(DaemonEvent)

        /// The payload's topic.
        package var topic: Topic {
            switch self {
            case .path, .diagnosis, .targetCheck, .quality, .uplink: .path
            case .link: .link
            case .netlink: .netlink
            case .task: .task
            case .session: .session
            case .probe: .probe
            case .connection: .connection
            case .incident: .incident
            case .daemon: .daemon
            }
        }

        // MARK: Each payload

        var projection: EventProjection {
            switch self {
            case .path(let path): path.projection
            case .diagnosis(let diagnosis): diagnosis.projection
            case .targetCheck(let check): check.projection
            case .quality(let quality): quality.projection
            case .uplink(let uplink): uplink.projection
            case .link(let link): link.projection
            case .netlink(let netlink): netlink.projection
            case .task(let task): task.projection
            case .session(let session): session.projection
            case .probe(let probe): probe.projection
            case .connection(let connection): connection.projection
            case .incident(let incident): incident.projection
            case .daemon(let daemon): daemon.projection
            }
        }

        /// The most selective place that shows the event.
        package var relevance: Relevance {
            switch self {
            case .path(let path): path.relevance
            case .diagnosis(let diagnosis): diagnosis.state == .checking ? .history : .page
            // A target's level shows the consequences; separate checks would fill the history.
            case .targetCheck(let check): check.isNews ? .history : .metrics
            case .quality, .uplink, .link, .session: .page
            case .netlink(let netlink): netlink.relevance
            case .task(let task): task.kind.relevance
            case .probe(let probe): probe.relevance
            case .connection(let connection): connection.relevance
            // The page shows what it consists of already.
            case .incident: .history
            case .daemon(let daemon): daemon.relevance
            }
        }
    }

    /// The topics of events, as labels give them.
    public enum Topic: String, Sendable, MetricLabel {
        case path, link, netlink, task, session, probe, connection, incident, daemon
    }

    /// The most selective place that shows an event.
    ///
    /// The places before it in this list show it as well: an event of `page` is also in the history, in the log and in
    /// metrics.
    package enum Relevance: Sendable, Comparable {
        /// Counted by metrics only: too frequent.
        case metrics
        /// Logged, but not kept: answered requests would displace everything else in the history within minutes.
        case log
        /// Kept in the history, and sent to those who follow it.
        case history
        /// Shown on the status page.
        case page
    }

    /// The most selective place that shows this event.
    package var relevance: Relevance { self.payload.relevance }

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
    public var sentence: String { self.projection.sentence }

    /// The other fields, as text, by their JSON names; `redaction` applies to every URL.
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
    /// Every object begins with `schema`, `event`, `seq` and `time`, and ends with `sentence`, which is for people.
    package func json(redaction: URLRedaction = URLRedaction()) -> JSONValue {
        let projection = self.projection
        let start: [JSONValue.Member] = [
            .init("schema", 1), .init("event", .string(projection.name)),
            .init("seq", .integer(Int64(clamping: self.sequence))), .init("time", .string(self.time.description)),
        ]
        let members = projection.fields.compactMap { field in
            field.key.map { JSONValue.Member($0, field.value.json(redaction)) }
        }
        return .object(start + members + [.init("sentence", .string(projection.sentence))])
    }
}
