internal import Synchronization
public import TidegateCore
internal import TidegateTransfer

/// Makes tasks and carries them out on a thread of its own.
///
/// Several sessions live side by side.
///
/// A session that is released without ``invalidate(cancellingTasks:)`` cancels its tasks.
public final class Session: Sendable {
    /// What the session was told.
    public let configuration: SessionConfiguration

    /// The header fields that new tasks get where their requests have none of that name.
    public let defaultHeaders = DefaultHeaders()

    let surroundings: SessionLoop.Surroundings
    private let bus: EventBus
    private let time: any TimeSource

    /// How long the end of a session waits for its thread, which may itself wait for a disk that does not answer.
    private static let patience = Duration.seconds(7)

    /// A session; events go to `bus`.
    ///
    /// `paths` opens and shuts gates, `resolver` turns names into addresses, `generator` spreads delays; with a
    /// `journal` tasks can be submitted that survive their process.
    /// `hooks` are asked, and `hearing` hears, about every task.
    /// - Throws: ``TaskError`` with the reason `internal` where the machine gives no thread.
    public init(
        _ configuration: SessionConfiguration, bus: EventBus, paths: any PathSource, resolver: any NameResolver,
        time: any TimeSource, generator: some RandomNumberGenerator & Sendable, journal: (any TaskJournal)? = nil,
        hooks: SessionHooks? = nil, hearing: TaskObserver? = nil
    ) throws(TaskError) {
        self.configuration = configuration
        self.bus = bus
        self.time = time
        do {
            let surroundings = SessionLoop.Surroundings(
                configuration: configuration, bus: bus, paths: paths, resolver: resolver, time: time,
                dice: RandomSource(generator), disk: try DiskThread(), line: Mailbox(tap: SessionEvents(time: time)),
                registry: TaskRegistry(keepingEnded: configuration.endedTasksKept), journal: journal, hooks: hooks,
                hearing: hearing)
            self.surroundings = surroundings
            surroundings.line.connect(
                try TransferThread { SessionLoop(engine: $0, surroundings: surroundings) })
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
        _ request: TaskRequest, options: TaskOptions? = nil,
        onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)? = nil
    ) -> TransferTask {
        self.make(request, options.map { TaskHandlers($0, call: nil) }, onCompletion)
    }

    /// Makes a task whose completion is heard where the caller says.
    public func task(
        _ request: TaskRequest, options: TaskOptions? = nil, completion: TaskCompletion
    ) -> TransferTask {
        switch completion.place {
        case .thread(let handler): return self.task(request, options: options, onCompletion: handler)
        case .elsewhere(let executor, let handler):
            let traits = TaskHandlers(options ?? TaskOptions(), call: OneShotCompletion(executor, handler))
            return self.make(request, traits, nil)
        }
    }

    private func make(
        _ request: TaskRequest, _ traits: TaskHandlers?,
        _ onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)?
    ) -> TransferTask {
        let request = self.defaultHeaders.applied(to: request)
        let wall = self.time.wall()
        let id = self.surroundings.dice.taskID(at: wall)
        let line = self.surroundings.line
        let board = self.board(of: request, at: wall)
        let task = self.surroundings.registry.add(onCompletion: onCompletion) {
            TransferTask(id: id, number: $0, request: request, board: board, line: line, traits: traits)
        }
        if let task, line.send(.adopt(task)) { return task }
        // Whoever ended the session may have ended this task with it.
        if let task, self.surroundings.registry.end(task) == nil { return task }
        let orphan =
            task ?? TransferTask(id: id, number: 0, request: request, board: board, line: line, traits: traits)
        let result = Session.cancelled(orphan, "the session is over")
        onCompletion?(orphan, result)
        Session.finish(orphan, result)
        return orphan
    }

    /// The tasks that are not over, and those that ended lately; oldest first.
    ///
    /// Those that ended hold 16 MiB of bodies at most: with more, the oldest ones that have a body are left out.
    public func tasks() -> [TaskInfo] { self.surroundings.registry.all.map(\.info) }

    /// The tasks of one kind, as ``tasks()`` gives them.
    public func tasks(of kind: TaskKind) -> [TaskInfo] { self.tasks().filter { $0.kind == kind } }

    /// The events of this session's tasks from now on, for one reader: the newest `capacity` are kept, and what they
    /// displace is counted.
    ///
    /// Its events are counted from 1 for themselves; those of all sessions together are on the bus.
    public func events(bufferingNewest capacity: Int = 256) -> Subscription {
        self.surroundings.line.tap.subscribe(bufferingNewest: capacity)
    }

    /// One task that is not over or ended lately; nil where the id is not known.
    public func task(_ id: TaskID) -> TaskInfo? { self.handle(id)?.info }

    /// The handle of a task that is not over or ended lately; nil where the id is not known.
    public func handle(_ id: TaskID) -> TransferTask? { self.surroundings.registry.all.first { $0.id == id } }

    /// Counts of tasks and connections now; idle connections and retry budgets as they were when this was asked for the
    /// last time.
    public func statistics() -> SessionStatistics {
        self.surroundings.line.send(.count)
        var statistics = SessionStatistics(of: self.surroundings.registry.live, at: self.time.monotonic())
        let counted = self.surroundings.registry.counted
        statistics.idleConnections = counted.idleConnections
        statistics.retryTokens = counted.retryTokens
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
            let change: TaskEvent.Kind =
                task.journaled == nil
                ? .completed(result.told(of: task)) : .suspended(.shutdown)
            self.bus.publish(.task(TaskEvent(id: task.id, taskKind: result.kind, kind: change)))
            Session.finish(task, result)
        }
    }

    // Nobody is left to wait for a handler elsewhere.
    private static func finish(_ task: TransferTask, _ result: TaskResult) {
        task.traits?.call?.run(task, result)
        task.finish(result)
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

    func board(of request: TaskRequest, at wall: WallTime) -> SharedTaskState {
        SharedTaskState(url: request.told(self.configuration.redaction), created: wall)
    }
}

/// Does something the first time it is asked to.
private final class Once: Sendable {
    private let work: Mutex<(@Sendable (Bool) -> Void)?>

    init(_ work: @escaping @Sendable (Bool) -> Void) { self.work = Mutex(work) }

    func run(_ value: Bool) { self.work.withLock { $0.take() }?(value) }
}
