/// What a task is doing.
public enum TaskState: Sendable, Hashable {
    /// Suspended by its user, or never resumed.
    case suspended
    /// Resumed, but held; the first hold's reason and, if there is more to say, what it waits for.
    case waiting(HoldReason, detail: String?)
    /// An attempt is under way; counted from 1.
    case running(attempt: Int)
    /// Over.
    case completed(TaskOutcome)

    /// The state without its data, as metrics and JSON name it.
    public var name: Name {
        switch self {
        case .suspended: .suspended
        case .waiting: .waiting
        case .running: .running
        case .completed: .completed
        }
    }

    /// The states' names.
    public enum Name: String, Sendable, MetricLabel {
        case suspended, waiting, running, completed

        /// What moves comes first.
        package var rank: Int {
            switch self {
            case .running: 0
            case .waiting: 1
            case .suspended: 2
            case .completed: 3
            }
        }
    }
}

/// One task as lists show it.
public struct TaskInfo: Sendable {
    /// The task's id.
    public var id: TaskID
    /// The name it was given in the configuration; nil for others.
    public var name: String?
    /// The submitter's own name for it; nil for others.
    package var key: String?
    /// What it does with bodies.
    public var kind: TaskKind
    /// The request method.
    public var method: String
    /// The URL without user information and query.
    public var url: String
    /// What it is doing.
    public var state: TaskState
    /// How far its bodies have come.
    public var progress: TransferProgress
    /// When it was created.
    public var created: WallTime
    /// When its first attempt started; nil before.
    public var started: WallTime?
    /// The final file of a download.
    public var file: String?
    /// Why a running attempt makes no progress, such as `no path: eth0 has no carrier`; nil while it does.
    package var stall: String?
    /// Why it failed; nil unless it has.
    public var failure: TaskFailure?
    /// What went wrong in one sentence; nil unless it has failed.
    public var explanation: String?
    /// The responsible party; nil unless it has failed.
    public var party: FaultParty?

    /// A task's entry from its parts.
    package init(
        id: TaskID, name: String? = nil, key: String? = nil, kind: TaskKind, method: String, url: String,
        state: TaskState,
        progress: TransferProgress, created: WallTime, started: WallTime? = nil, file: String? = nil,
        failure: TaskFailure? = nil, explanation: String? = nil, party: FaultParty? = nil, stall: String? = nil
    ) {
        (self.id, self.name, self.key, self.kind) = (id, name, key, kind)
        (self.method, self.url, self.state, self.progress) = (method, url, state, progress)
        (self.created, self.started, self.file, self.failure) = (created, started, file, failure)
        (self.explanation, self.party, self.stall) = (explanation, party, stall)
    }

    /// One entry of `GET /api/v1/tasks`.
    package var json: JSONValue { TaskDocument(self).json }

    /// What its user calls it; nil if it has neither a name nor a key.
    package var displayName: String? { self.name ?? self.key }
}

/// What a task does with bodies.
public enum TaskKind: String, Sendable, MetricLabel {
    /// The response body stays in memory, within a bound.
    case data
    /// The response body goes to a file that appears only when it is whole.
    case download
    /// The request has a body of its own.
    case upload
}

/// How a task ended.
public enum TaskOutcome: String, Sendable, MetricLabel {
    case success, failure, cancelled
}
