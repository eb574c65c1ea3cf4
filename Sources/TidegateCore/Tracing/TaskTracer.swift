public import HTTPTypes

/// Makes spans of tasks for a tracing system; `TidegateTracing` has one for swift-distributed-tracing.
///
/// It and its spans are called where tasks are made and on the session's thread: they must not block.
public protocol TaskTracer: Sendable {
    /// The trace that the caller is part of, by its task-local values; nil for none.
    var callersTrace: TraceContext? { get }

    /// Starts the span of a task, in the caller's place and with its task-local values.
    ///
    /// A `parent` is the trace that the request itself continues, and goes before the caller's trace.
    func startSpan(of request: TracedRequest, parent: TraceContext?) -> any TaskSpan
}

/// The span of a task, with those of its attempts below it.
public protocol TaskSpan: AnyObject, Sendable {
    /// The header fields that make a request a part of the task's span, such as `traceparent`.
    var fields: [HTTPField] { get }

    /// The header fields that make the request of an attempt a part of the attempt's span, which has begun or begins.
    ///
    /// Attempts are counted from 1.
    func fields(ofAttempt number: Int, _ request: TracedRequest) -> [HTTPField]

    /// Takes an event of the task; the spans end with `completed`, and with a suspension for `shutdown`.
    func record(_ event: TaskEvent.Kind)
}

/// What the span of a task, or of one of its attempts, says about the request.
public struct TracedRequest: Sendable, Hashable {
    /// The task.
    public var task: TaskID
    /// The name that the task was given; nil for none.
    public var name: String?
    /// The method.
    public var method: String
    /// The URL after the session's redaction, which removes user information and query by default.
    public var url: String
    /// The server's name or address.
    public var host: String
    /// The server's port, 1 to 65535; nil only if it is not known.
    public var port: UInt16?

    /// A request from its parts.
    package init(task: TaskID, name: String?, method: String, url: String, target: Target) {
        (self.task, self.name, self.method, self.url) = (task, name, method, url)
        self.host = target.shownHost
        self.port = target.port
    }
}
