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
