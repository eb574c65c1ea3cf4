internal import Synchronization
public import TidegateBus
public import TidegateModel

/// Makes tasks and carries them out on a thread of its own. Several sessions live side by side.
public final class Session: Sendable {
    /// What the session was told.
    public let configuration: SessionConfiguration

    /// A session; events go to `bus`.
    ///
    /// `paths` opens and shuts gates, `resolver` turns names into addresses, `generator` spreads delays.
    /// - Throws: ``TaskError`` with the reason `internal` where the machine gives no thread, or `invalidRequest` where
    ///   the configuration cannot work.
    public init(
        _ configuration: SessionConfiguration, bus: EventBus, paths: any PathSource, resolver: any NameResolver,
        time: any TimeSource, generator: some RandomNumberGenerator & Sendable
    ) throws(TaskError) {
        self.configuration = configuration
    }

    /// Makes a task. It is suspended: ``TransferTask/resume()`` lets it go.
    ///
    /// After ``invalidate(cancellingTasks:)`` the task is born cancelled, and no event tells of it.
    public func task(_ request: TaskRequest) -> TransferTask {
        fatalError()
    }

    /// The tasks that are not over, and those that ended lately; oldest first.
    public func tasks() -> [TaskInfo] { [] }

    /// One task that is not over or ended lately; nil where the id is not known.
    public func task(_ id: TaskID) -> TaskInfo? { nil }

    /// The handle of a task that is not over; nil where there is none.
    public func handle(_ id: TaskID) -> TransferTask? { nil }

    /// Counts of tasks and connections now.
    public func statistics() -> SessionStatistics { SessionStatistics() }

    /// Ends the session: no task is made any more, and the last event is `session.invalidated`.
    ///
    /// With `cancellingTasks` every task is cancelled; without, the call waits for all of them to end.
    public func invalidate(cancellingTasks: Bool) async {}
}
