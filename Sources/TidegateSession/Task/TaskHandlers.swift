internal import Synchronization
internal import TidegateCore

/// What only few tasks were given beside their request.
final class TaskHandlers: Sendable {
    let hooks: SessionHooks
    let hearing: TaskObserver
    /// The handler that is called elsewhere; nil where there is none.
    let call: OneShotCompletion?

    init(_ options: TaskOptions, call: OneShotCompletion?) {
        self.hooks = options.hooks
        self.hearing = options.hearing
        self.call = call
    }
}

/// A completion handler that is called elsewhere: once, whoever asks, and forgotten then.
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
