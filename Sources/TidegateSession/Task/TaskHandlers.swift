internal import HTTPTypes
internal import Synchronization
public import TidegateCore

/// The handler to call when a task ends, and the thread or executor to call it on.
///
/// In any case the handler has returned before the task's `completed` event and before ``TransferTask/result()``
/// returns.
public struct TaskCompletion: Sendable {
    enum Place: Sendable {
        case thread(@Sendable (TransferTask, TaskResult) -> Void)
        case elsewhere((any TaskExecutor)?, @Sendable (TransferTask, TaskResult) async -> Void)
    }

    let place: Place

    /// On the session's thread, without a thread switch; must not block.
    public static func onSessionThread(
        _ handler: @escaping @Sendable (TransferTask, TaskResult) -> Void
    ) -> TaskCompletion {
        TaskCompletion(place: .thread(handler))
    }

    /// On an executor of the caller's choice, or the shared one; may take its time.
    public static func on(
        _ executor: (any TaskExecutor)? = nil,
        _ handler: @escaping @Sendable (TransferTask, TaskResult) async -> Void
    ) -> TaskCompletion {
        TaskCompletion(place: .elsewhere(executor, handler))
    }

    /// On an actor: `handler` runs isolated to it.
    public static func on<Home: Actor>(
        _ home: Home, _ handler: @escaping @Sendable (isolated Home, TransferTask, TaskResult) -> Void
    ) -> TaskCompletion {
        TaskCompletion(place: .elsewhere(nil) { task, result in await handler(home, task, result) })
    }
}

/// The hooks, observers, completion handler and span, which only few tasks have.
final class TaskHandlers: Sendable {
    let hooks: SessionHooks
    let observer: TaskObserver
    /// The completion handler for another executor; nil if none exists.
    let completion: OneShotCompletion?
    /// The spans of the task and its attempts; nil unless the session has a tracer.
    let span: (any TaskSpan)?

    /// Nil if there is nothing to keep.
    ///
    /// Not an initialiser, because a failing one has already allocated.
    static func keeping(
        _ options: TaskOptions?, completion: OneShotCompletion? = nil, span: (any TaskSpan)?
    ) -> TaskHandlers? {
        guard options != nil || completion != nil || span != nil else { return nil }
        return TaskHandlers(options, completion, span)
    }

    private init(_ options: TaskOptions?, _ completion: OneShotCompletion?, _ span: (any TaskSpan)?) {
        self.hooks = options?.hooks ?? SessionHooks()
        self.observer = options?.observer ?? TaskObserver()
        self.completion = completion
        self.span = span
    }
}

/// A completion handler that runs on another executor: the first call runs it, and later ones do nothing.
final class OneShotCompletion: Sendable {
    typealias Handler = @Sendable (TransferTask, TaskResult) async -> Void

    private let executor: (any TaskExecutor)?
    private let handler: Mutex<Handler?>

    init(_ executor: (any TaskExecutor)?, _ handler: @escaping Handler) {
        self.executor = executor
        self.handler = Mutex(handler)
    }

    /// Calls the handler, unless it was already called; `done` follows when it has returned.
    func run(_ task: TransferTask, _ result: TaskResult, done: @escaping @Sendable () -> Void = {}) {
        guard let handler = self.handler.withLock({ $0.take() }) else { return }
        Task(executorPreference: self.executor) {
            await handler(task, result)
            done()
        }
    }
}

extension TaskTracer {
    /// Starts the span of a new task, and makes the request part of it.
    func trace(_ request: inout TaskRequest, of id: TaskID, url: String) -> any TaskSpan {
        let span = self.startSpan(
            of: TracedRequest(
                task: id, name: request.options.name, method: request.method, url: url, target: request.address.target),
            parent: request.trace)
        // A trace field of the request's own stays on the wire.
        if request.ownTraceParent == nil, let trace = TraceContext(span.fields) { request.options.trace = trace }
        return span
    }
}

extension TraceContext {
    /// Parses the fields `traceparent` and `tracestate`; nil without the first.
    init?(_ fields: [HTTPField]) {
        guard let parent = fields.first(where: { $0.name.canonicalName == "traceparent" })?.value else { return nil }
        self.init(traceParent: parent, state: fields.first { $0.name.canonicalName == "tracestate" }?.value)
    }
}
