/// Why the system makes a task wait; apps never set or end a hold.
public enum HoldReason: String, Sendable, MetricLabel, CustomStringConvertible {
    /// There is no path to the target.
    case path
    /// There is a path, but not of the kind the task requires.
    case constraint
    /// Its turn has not come, or its release after an outage is spread.
    case schedule
    /// A failed attempt waits for its retry.
    case backoff
    /// Too many requests to the origin failed.
    case circuit
    /// The origin's retry budget is empty.
    case budget
    /// As many transfers run as are allowed.
    case concurrency
    /// The disk is full.
    case disk
    /// The process has as many files and sockets open as it may.
    case descriptors
    /// The session is shutting down.
    case drain

    /// What the task waits for, unless the hold's own detail says it better.
    public var description: String {
        switch self {
        case .path: "no path"
        case .constraint: "no path of the kind required"
        case .schedule: "its turn"
        case .backoff: "retry soon"
        case .circuit: "paused after repeated failures"
        case .budget: "too many retries for this server"
        case .concurrency: "queued"
        case .disk: "the disk is full"
        case .descriptors: "no file descriptor is free"
        case .drain: "shutting down"
        }
    }
}
