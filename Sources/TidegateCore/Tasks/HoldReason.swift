/// What the system makes a task wait for; users never touch holds.
public enum HoldReason: String, Sendable, MetricLabel {
    /// There is no path to the target.
    case path
    /// There is a path, but not of the kind the task asks for.
    case constraint
    /// Its turn has not come, or its release after an outage is spread.
    case schedule
    /// A failed attempt is waiting to be tried again.
    case backoff
    /// The origin failed too often.
    case circuit
    /// The origin's retry budget is empty.
    case budget
    /// As many transfers run as are allowed.
    case concurrency
    /// The disk is full.
    case disk
    /// The session is shutting down.
    case drain
}
