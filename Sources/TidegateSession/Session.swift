internal import Synchronization
public import TidegateCore
internal import TidegateLoop
internal import TidegateTransfer

/// Makes tasks and carries them out on a thread of its own.
///
/// Several sessions can coexist.
///
/// A session that is released without ``invalidate(cancellingTasks:)`` cancels its tasks.
public final class Session: Sendable {
    /// The configuration that the session was made with.
    package let configuration: SessionConfiguration

    /// The header fields that new tasks get if their requests have none of that name.
    public let defaultHeaders = DefaultHeaders()

    let dependencies: SessionDependencies

    /// How long the end of a session waits for its thread, which may itself wait for a disk that does not answer.
    private static let patience = Duration.seconds(7)

    /// A session; events go to `bus`.
    ///
    /// `paths` opens and shuts gates, `resolver` turns names into addresses, `generator` spreads delays; with a
    /// `journal` tasks can be submitted that survive their process.
    /// `hooks` and `observer` are called for every task; a `tracer` makes their spans.
    /// - Throws: ``ConfigurationValueError``, which names the property that is outside its range; ``TaskError`` with the
    ///   reason `internal` if the system provides no thread.
    public convenience init(
        _ configuration: SessionConfiguration, bus: EventBus, paths: any PathSource, resolver: any NameResolver,
        time: any TimeSource, generator: some RandomNumberGenerator & Sendable, journal: TaskJournal? = nil,
        hooks: SessionHooks? = nil, observer: TaskObserver? = nil, tracer: (any TaskTracer)? = nil
    ) throws {
        try self.init(
            configuration, bus: bus, paths: paths, resolver: resolver, time: time, generator: generator,
            journal: journal, hooks: hooks, observer: observer, tracer: tracer, diagnosis: { _ in nil })
    }

    /// A session that also attributes silence by the latest diagnosis of the host, and notes its sockets in `own`.
    package init(
        _ configuration: SessionConfiguration, bus: EventBus, paths: any PathSource, resolver: any NameResolver,
        time: any TimeSource, generator: some RandomNumberGenerator & Sendable, journal: TaskJournal?,
        hooks: SessionHooks?, observer: TaskObserver?, tracer: (any TaskTracer)? = nil, own: OwnSockets? = nil,
        diagnosis: @escaping @Sendable (AddressFamily) -> SilenceEvidence?
    ) throws {
        try configuration.validate()
        self.configuration = configuration
        do {
            let dependencies = SessionDependencies(
                configuration: configuration, bus: bus, paths: paths, resolver: resolver, time: time,
                random: RandomSource(generator), disk: try DiskThread(),
                mailbox: Mailbox(events: SessionEvents(time: time)),
                registry: TaskRegistry(keepingEnded: configuration.endedTasksKept), journal: journal?.storage,
                hooks: hooks,
                observer: observer, tracer: tracer, diagnosis: diagnosis)
            self.dependencies = dependencies
            dependencies.mailbox.connect(
                try TransferThread(time: time, own: own) { SessionLoop(engine: $0, dependencies: dependencies) })
        } catch {
            throw TaskError(reason: .internal, underlying: "the session could not start: \(error)")
        }
    }

    deinit { self.stop() }

    // MARK: - Making tasks

    /// Makes a task.
    ///
    /// It is suspended: ``TransferTask/resume()`` starts it.
    ///
    /// `onCompletion` is called once, on the session's thread, when the task is over: before its `completed` event and
    /// before ``TransferTask/result()`` returns, and with ``TransferTask/body()`` at hand. It must not block. It may
    /// make and resume the next task without a change of threads.
    ///
    /// After ``invalidate(cancellingTasks:)`` the task is cancelled from the start, and no event is published about
    /// it; `onCompletion` is then called before this returns, so a handler that makes tasks must check the outcome
    /// first.
    public func makeTask(
        _ request: TaskRequest, options: TaskOptions? = nil,
        onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)? = nil
    ) -> TransferTask {
        self.make(request, options, nil, onCompletion)
    }

    /// Makes a task whose completion handler runs on the caller's choice of thread or executor.
    public func makeTask(
        _ request: TaskRequest, options: TaskOptions? = nil, completion: TaskCompletion
    ) -> TransferTask {
        switch completion.place {
        case .thread(let handler): self.make(request, options, nil, handler)
        case .elsewhere(let executor, let handler):
            self.make(request, options, OneShotCompletion(executor, handler), nil)
        }
    }

    private func make(
        _ request: TaskRequest, _ options: TaskOptions?, _ completion: OneShotCompletion?,
        _ onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)?
    ) -> TransferTask {
        var request = self.prepared(request)
        let wall = self.dependencies.time.wall()
        let (registry, mailbox) = (self.dependencies.registry, self.dependencies.mailbox)
        let id = self.dependencies.random.taskID(at: wall)
        let shared = self.sharedState(of: request, at: wall)
        let number = registry.reserve()
        let span = number == nil ? nil : self.dependencies.tracer?.trace(&request, of: id, url: shared.url)
        let task = TransferTask(
            id: id, number: number ?? 0, request: request, shared: shared, controller: mailbox,
            handlers: .keeping(options, completion: completion, span: span))
        guard number != nil else {
            let result = Session.cancelled(task, "the session is over")
            onCompletion?(task, result)
            Session.finish(task, result)
            return task
        }
        self.publish(.created(method: request.method, url: task.shared.url), of: task)
        let isOpen = registry.add(task, onCompletion: onCompletion)
        // The thread does not know a task that is only made, unless it expires or the session is ending.
        guard !isOpen || request.options.expires != nil else { return task }
        if !mailbox.send(.adopt(task)), let entry = registry.end(task) {
            self.end(entry, "the session is over")
        }
        return task
    }

    /// The request with the session's values for options that it lacks.
    func prepared(_ request: TaskRequest) -> TaskRequest {
        var request = self.defaultHeaders.applied(to: request)
        // A tracer begins traces itself.
        guard self.configuration.startsTraces, self.dependencies.tracer == nil, request.trace == nil,
            request.ownTraceParent == nil
        else { return request }
        request.options.trace = self.dependencies.random.newTrace()
        return request
    }

    func publish(_ change: TaskEvent.Kind, of task: TransferTask) {
        task.handlers?.span?.record(change)
        let event = TaskEvent(id: task.id, taskKind: task.request.kind, trace: task.trace, kind: change)
        let events = self.dependencies.mailbox.events
        if events.isOpen { events.publish(event) }
        self.dependencies.bus.publish(.task(event))
    }

    func sharedState(of request: TaskRequest, at wall: WallTime) -> PublishedTaskState {
        PublishedTaskState(
            url: request.redactedURL(self.configuration.redaction), created: wall,
            exchanges: self.configuration.recordsExchanges ? ExchangeLog() : nil)
    }

    package var time: any TimeSource { self.dependencies.time }

    /// Whether the session's thread has been in one turn for longer than 10 s.
    package var isStalled: Bool { self.dependencies.mailbox.isStalled }

    // MARK: - Finding tasks

    /// The tasks that are not over, and those that ended lately; oldest first.
    ///
    /// Bodies in memory are bounded: the tasks that ended lately hold 16 MiB of them at most, and with more the oldest
    /// ones that have a body are left out.
    public func tasks() -> [TaskInfo] { self.dependencies.registry.all.map(\.info) }

    /// The tasks of ``tasks()`` themselves.
    package var allTasks: [TransferTask] { self.dependencies.registry.all }

    /// The task that is not over or ended lately; nil if the id is not known.
    public func task(withID id: TaskID) -> TransferTask? {
        self.dependencies.registry.first { $0.id == id }
    }

    /// The events of this session's tasks from now on, for one reader: the newest `capacity` are kept, and displaced
    /// ones are counted.
    ///
    /// They have their own numbers from 1; the bus has those of all sessions.
    public func events(bufferingNewest capacity: Int = 256) -> Subscription {
        self.dependencies.mailbox.events.subscribe(bufferingNewest: capacity)
    }

    /// Counts of tasks and connections now; idle connections and retry budgets are those of the previous call.
    package func statistics() -> SessionStatistics {
        self.dependencies.mailbox.send(.count)
        let registry = self.dependencies.registry
        var statistics = SessionStatistics(of: registry.live, at: self.dependencies.time.monotonic())
        let counted = registry.counted
        statistics.idleConnections = counted.idleConnections
        statistics.retryTokens = counted.retryTokens
        return statistics
    }

    // MARK: - The end

    /// Starts no attempt from now on, because the session will be invalidated: attempts under way continue, and tasks
    /// that would start another one are held for `drain`.
    package func holdAll() { self.dependencies.mailbox.send(.holdAll) }

    /// Ends the session: no more tasks are made, and the last event is `session.invalidated`.
    ///
    /// With `cancellingTasks` every task is cancelled, and disk work that is not finished after five seconds is
    /// abandoned. After seven seconds in all the session's thread is also abandoned, if it hangs in the disk or in a
    /// handler: this call then publishes its tasks as cancelled. Without it, the call waits for all tasks to end.
    public func invalidate(cancellingTasks: Bool) async {
        let isFirst = self.dependencies.registry.close()
        if await self.drain(cancellingTasks: cancellingTasks) { self.stop() } else { self.abandon() }
        if isFirst { self.dependencies.bus.publish(.session(.invalidated)) }
    }

    /// Waits until no task is left; false if that exceeded the time for cancelling.
    private func drain(cancellingTasks: Bool) async -> Bool {
        var timeout: Task<Void, Never>?
        let isDone = await withCheckedContinuation { continuation in
            let once = OneShotCallback { continuation.resume(returning: $0) }
            let isSent = self.dependencies.mailbox.send(
                .drain(cancellingTasks: cancellingTasks) { once.call(true) })
            if !isSent { once.call(true) }
            guard isSent, cancellingTasks else { return }
            // A separate Swift task, because the caller's may itself be cancelled.
            timeout = Task {
                try? await ContinuousClock().sleep(for: Session.patience)
                once.call(false)
            }
        }
        timeout?.cancel()
        return isDone
    }

    // A thread that hangs cannot be waited for: its tasks are ended without it.
    private func abandon() {
        self.dependencies.registry.noteStuckDisk()
        self.dependencies.mailbox.disconnect()?.abandon()
        self.dependencies.disk.abandon()
        for entry in self.dependencies.registry.endAll() {
            self.end(entry, "the task was cancelled, and the disk did not answer")
        }
    }

    /// Forgets what the session has learned from servers, so that later tasks start as in a new session, like
    /// URLSession's `reset`.
    ///
    /// Removes the cookies of ``SessionConfiguration/cookies`` and the responses of ``SessionConfiguration/validators``,
    /// also for other sessions that share them, closes idle connections, and forgets cached addresses. Tasks go on: an
    /// attempt under way keeps its connection, which no later attempt uses, and the credentials that a hook gave it;
    /// nothing that follows uses either. TLS sessions are never kept: each connection has a handshake of its own.
    ///
    /// Retry budgets and circuits stay. The event `session.reset` follows; the call returns when the files are gone.
    public func reset() async {
        await withCheckedContinuation { continuation in
            let isSent = self.dependencies.mailbox.send(.reset(done: { continuation.resume() }))
            guard !isSent else { return }
            // The session is over, but other sessions may use its jar and its store.
            self.configuration.cookies?.removeAll()
            self.configuration.validators?.removeAll()
            continuation.resume()
        }
    }

    private func end(_ entry: TaskRegistry.Entry, _ message: String) {
        let task = entry.task
        let result = Session.cancelled(task, message)
        entry.onCompletion?(task, result)
        self.publish(
            task.journaled == nil ? .completed(result.redacted(for: task)) : .suspended(.shutdown), of: task)
        Session.finish(task, result)
    }

    // No thread is left that could wait for a handler on another executor.
    private static func finish(_ task: TransferTask, _ result: TaskResult) {
        task.handlers?.completion?.run(task, result)
        task.finish(result)
    }

    private static func cancelled(_ task: TransferTask, _ message: String) -> TaskResult {
        TaskResult(
            id: task.id, name: task.request.options.name, kind: task.request.kind, method: task.request.method,
            url: task.request.url, outcome: .cancelled, failure: .cancelled, explanation: message)
    }

    private func stop() {
        self.dependencies.mailbox.disconnect()?.stop()
        if self.dependencies.registry.isDiskStuck {
            self.dependencies.disk.abandon()
        } else {
            self.dependencies.disk.stop()
        }
    }
}

/// A callback that runs on the first call only.
private final class OneShotCallback: Sendable {
    private let callback: Mutex<(@Sendable (Bool) -> Void)?>

    init(_ callback: @escaping @Sendable (Bool) -> Void) { self.callback = Mutex(callback) }

    func call(_ value: Bool) { self.callback.withLock { $0.take() }?(value) }
}
