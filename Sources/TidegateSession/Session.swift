internal import Synchronization
public import TidegateBus
public import TidegateModel
internal import TidegateTransfer

/// Makes tasks and carries them out on a thread of its own.
///
/// Several sessions live side by side.
///
/// A session that is released without ``invalidate(cancellingTasks:)`` cancels its tasks.
public final class Session: Sendable {
    /// What the session was told.
    public let configuration: SessionConfiguration

    let surroundings: SessionCore.Surroundings
    private let bus: EventBus
    private let time: any TimeSource

    /// How long the end of a session waits for its thread, which may itself wait for a disk that does not answer.
    private static let patience = Duration.seconds(7)

    /// A session; events go to `bus`.
    ///
    /// `paths` opens and shuts gates, `resolver` turns names into addresses, `generator` spreads delays; with a
    /// `journal` tasks can be submitted that survive their process.
    /// - Throws: ``TaskError`` with the reason `internal` where the machine gives no thread.
    public init(
        _ configuration: SessionConfiguration, bus: EventBus, paths: any PathSource, resolver: any NameResolver,
        time: any TimeSource, generator: some RandomNumberGenerator & Sendable, journal: (any TaskJournal)? = nil
    ) throws(TaskError) {
        self.configuration = configuration
        self.bus = bus
        self.time = time
        do {
            let surroundings = SessionCore.Surroundings(
                configuration: configuration, bus: bus, paths: paths, resolver: resolver, time: time,
                dice: Dice(generator), disk: try DiskThread(), line: SessionLine(),
                registry: TaskRegistry(keepingEnded: configuration.endedTasksKept), journal: journal)
            self.surroundings = surroundings
            surroundings.line.connect(
                try TransferThread { SessionCore(engine: $0, surroundings: surroundings) })
        } catch {
            throw TaskError(reason: .internal, underlying: "the session could not start: \(error)")
        }
    }

    deinit { self.stop() }

    /// Makes a task.
    ///
    /// It is suspended: ``TransferTask/resume()`` lets it go.
    ///
    /// `onCompletion` is called once, on the session's thread, when the task is over: before its `completed` event and
    /// before ``TransferTask/result()`` returns, and with ``TransferTask/body()`` at hand. It must not block. It may
    /// make and resume the next task, which costs no change of threads.
    ///
    /// After ``invalidate(cancellingTasks:)`` the task is born cancelled, and no event tells of it; `onCompletion` is
    /// then called before this returns, so that a handler that makes tasks has to look at the outcome first.
    public func task(
        _ request: TaskRequest, onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)? = nil
    ) -> TransferTask {
        let wall = self.time.wall()
        let id = self.surroundings.dice.taskID(at: wall)
        let line = self.surroundings.line
        let board = TaskBoard(Session.firstEntry(id, request, at: wall))
        let task = self.surroundings.registry.add(onCompletion: onCompletion) {
            TransferTask(id: id, number: $0, request: request, board: board, line: line)
        }
        if let task, line.send(.adopt(task)) { return task }
        // Whoever ended the session may have ended this task with it.
        if let task, self.surroundings.registry.end(task) == nil { return task }
        let orphan = task ?? TransferTask(id: id, number: 0, request: request, board: board, line: line)
        let result = Session.cancelled(orphan, "the session is over")
        onCompletion?(orphan, result)
        orphan.board.finish(result)
        return orphan
    }

    /// The tasks that are not over, and those that ended lately; oldest first.
    ///
    /// Those that ended hold 16 MiB of bodies at most: with more, the oldest ones that have a body are left out.
    public func tasks() -> [TaskInfo] { self.surroundings.registry.all.map(\.info) }

    /// One task that is not over or ended lately; nil where the id is not known.
    public func task(_ id: TaskID) -> TaskInfo? { self.handle(id)?.info }

    /// The handle of a task that is not over or ended lately; nil where the id is not known.
    public func handle(_ id: TaskID) -> TransferTask? { self.surroundings.registry.all.first { $0.id == id } }

    /// Counts of tasks and connections now; idle connections as they were when this was asked for the last time.
    public func statistics() -> SessionStatistics {
        self.surroundings.line.send(.countConnections)
        var statistics = SessionStatistics(of: self.surroundings.registry.live, at: self.time.monotonic())
        statistics.idleConnections = self.surroundings.registry.idleConnections
        return statistics
    }

    /// Ends the session: no task is made any more, and the last event is `session.invalidated`.
    ///
    /// With `cancellingTasks` every task is cancelled, and what the disk has not finished after five seconds is left;
    /// after seven seconds in all the session's thread is left, too, where it hangs in the disk or in a handler: its
    /// tasks are then told as cancelled from here. Without, the call waits for all of them to end.
    public func invalidate(cancellingTasks: Bool) async {
        let isFirst = self.surroundings.registry.close()
        if await self.drain(cancellingTasks: cancellingTasks) { self.stop() } else { self.leave() }
        if isFirst { self.bus.publish(.session(.invalidated)) }
    }

    /// Waits until no task is left; false where that took longer than cancelling may.
    private func drain(cancellingTasks: Bool) async -> Bool {
        var alarm: Task<Void, Never>?
        let isDone = await withCheckedContinuation { continuation in
            let once = Once { continuation.resume(returning: $0) }
            let isAsked = self.surroundings.line.send(.drain(cancellingTasks: cancellingTasks) { once.run(true) })
            if !isAsked { once.run(true) }
            guard isAsked, cancellingTasks else { return }
            // A task of its own: whoever waits for the session's end may itself be cancelled.
            alarm = Task {
                try? await ContinuousClock().sleep(for: Session.patience)
                once.run(false)
            }
        }
        alarm?.cancel()
        return isDone
    }

    // A thread that hangs cannot be waited for: it is left to itself, and its tasks are ended without it.
    private func leave() {
        self.surroundings.registry.noteStuckDisk()
        self.surroundings.line.disconnect()?.abandon()
        self.surroundings.disk.abandon()
        for entry in self.surroundings.registry.endAll() {
            let task = entry.task
            let result = Session.cancelled(task, "the task was cancelled, and the disk did not answer")
            entry.onCompletion?(task, result)
            self.bus.publish(.task(TaskEvent(id: task.id, kind: result.kind, change: .completed(result))))
            task.board.finish(result)
        }
    }

    private static func cancelled(_ task: TransferTask, _ words: String) -> TaskResult {
        TaskResult(
            id: task.id, name: task.request.name, kind: task.request.kind, method: task.request.method,
            url: task.request.url, outcome: .cancelled, failure: .cancelled, explanation: words)
    }

    private func stop() {
        self.surroundings.line.disconnect()?.stop()
        if self.surroundings.registry.isDiskStuck {
            self.surroundings.disk.abandon()
        } else {
            self.surroundings.disk.stop()
        }
    }

    static func firstEntry(_ id: TaskID, _ request: TaskRequest, at wall: WallTime) -> TaskInfo {
        var file: String?
        if case .file(let path, _, _) = request.destination { file = path }
        return TaskInfo(
            id: id, name: request.name, kind: request.kind, method: request.method,
            url: request.address.textWithoutQuery, state: .suspended, progress: TransferProgress(), created: wall,
            file: file)
    }
}

/// Does something the first time it is asked to.
private final class Once: Sendable {
    private let work: Mutex<(@Sendable (Bool) -> Void)?>

    init(_ work: @escaping @Sendable (Bool) -> Void) { self.work = Mutex(work) }

    func run(_ value: Bool) { self.work.withLock { $0.take() }?(value) }
}
