public import TidegateCore

/// What somebody wants to hear of tasks, each as a closure; nobody's closure replaces another one's.
///
/// Called on the session's thread, in order, and must not block; for streams see ``Session/events(bufferingNewest:)``,
/// ``TransferTask/events(bufferingNewest:)``, ``TransferTask/updates()`` and ``Destination/stream(_:)``.
public struct TaskObserver: Sendable {
    /// The head of an attempt's final answer is here.
    public var response: (@Sendable (TransferTask, TaskResponse) -> Void)?
    /// Bytes of a good answer's body came, and where in the body they belong: in order and without gaps.
    ///
    /// Nothing more is read meanwhile, so that a slow closure slows the server down. An attempt that cannot continue the
    /// last one begins at 0 again. What goes into a file is not shown.
    public var data: (@Sendable (TransferTask, _ offset: Int64, _ bytes: [UInt8]) -> Void)?
    /// The bodies moved: at most ten times a second, and always a last time.
    public var progress: (@Sendable (TransferTask, TransferProgress) -> Void)?
    /// The task is over; before its `completed` event.
    public var completion: (@Sendable (TransferTask, TaskResult) -> Void)?

    /// Closures from their parts.
    public init(
        response: (@Sendable (TransferTask, TaskResponse) -> Void)? = nil,
        data: (@Sendable (TransferTask, _ offset: Int64, _ bytes: [UInt8]) -> Void)? = nil,
        progress: (@Sendable (TransferTask, TransferProgress) -> Void)? = nil,
        completion: (@Sendable (TransferTask, TaskResult) -> Void)? = nil
    ) {
        self.response = response
        self.data = data
        self.progress = progress
        self.completion = completion
    }
}

/// What a task is given beside its request.
///
/// Hooks that it has go before the session's; what is heard, both hear, the session first.
public struct TaskOptions: Sendable {
    /// The task's own hooks.
    public var hooks: SessionHooks
    /// Who hears of the task.
    public var hearing: TaskObserver

    /// Options from their parts.
    public init(hooks: SessionHooks = SessionHooks(), hearing: TaskObserver = TaskObserver()) {
        self.hooks = hooks
        self.hearing = hearing
    }
}
