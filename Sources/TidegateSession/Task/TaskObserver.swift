public import TidegateCore

/// Closures that are called about tasks; the session's and a task's own are both called.
///
/// Called on the session's thread, in order, and must not block; for streams see ``Session/events(bufferingNewest:)``,
/// ``TransferTask/events(bufferingNewest:)``, ``TransferTask/updates()`` and ``Destination/stream(_:)``.
public struct TaskObserver: Sendable {
    /// The head of an attempt's final response is here.
    public var response: (@Sendable (TransferTask, TaskResponse) -> Void)?
    /// Bytes of a good response's body came, and where in the body they belong: in order and without gaps.
    ///
    /// Nothing more is read meanwhile, so that a slow closure slows the server down. An attempt that cannot continue
    /// the last one begins at 0 again. What goes into a file is not shown.
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

/// A task's own hooks and observer.
///
/// Its hooks take the place of the session's; of the observers both are called, the session's first.
public struct TaskOptions: Sendable {
    /// The task's own hooks.
    public var hooks: SessionHooks
    /// The task's own observer.
    public var observer: TaskObserver

    /// Options from their parts.
    public init(hooks: SessionHooks = SessionHooks(), observer: TaskObserver = TaskObserver()) {
        self.hooks = hooks
        self.observer = observer
    }
}
