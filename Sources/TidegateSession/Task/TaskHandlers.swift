internal import Synchronization
internal import TidegateCore

/// The hooks, observers, the completion handler and the span that only few tasks have.
final class TaskHandlers: Sendable {
    let hooks: SessionHooks
    let observer: TaskObserver
    /// The completion handler that is called on another executor; nil if there is none.
    let completion: OneShotCompletion?
    /// The spans of the task and its attempts; nil unless the session has a tracer.
    let span: (any TaskSpan)?

    init(_ options: TaskOptions, completion: OneShotCompletion?) {
        self.hooks = options.hooks
        self.observer = options.observer
        self.completion = completion
        self.span = nil
    }

    /// The same handlers with a span.
    init(_ other: TaskHandlers?, span: any TaskSpan) {
        self.hooks = other?.hooks ?? SessionHooks()
        self.observer = other?.observer ?? TaskObserver()
        self.completion = other?.completion
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

    /// Calls the handler, unless that was done before; `done` follows when it has returned.
    func run(_ task: TransferTask, _ result: TaskResult, done: @escaping @Sendable () -> Void = {}) {
        guard let handler = self.handler.withLock({ $0.take() }) else { return }
        Task(executorPreference: self.executor) {
            await handler(task, result)
            done()
        }
    }
}
