internal import Synchronization
public import TidegateCore
internal import TidegateLoop
internal import TidegateTransfer

/// Creates tasks and executes them on its own thread.
///
/// Several sessions can coexist.
///
/// A session that is released without ``invalidate(cancellingTasks:)`` cancels its tasks.
public final class Session: Sendable {
    /// The session's configuration.
    package let configuration: SessionConfiguration

    /// The header fields that new tasks receive unless their requests have fields with those names.
    public let defaultHeaders = DefaultHeaders()

    let dependencies: SessionDependencies

    /// How long the end of a session waits for its thread, which may be blocked by a disk that does not answer.
    private static let patience = Duration.seconds(7)

    /// Creates a session, which publishes events to `bus`.
    ///
    /// `paths` opens and shuts gates, `resolver` resolves names, and `generator` spreads delays. A `journal` enables
    /// tasks that survive their process. `hooks` and `observer` are called for every task; a `tracer` creates their
    /// spans.
    /// - Throws: ``ConfigurationValueError``, which names the property that is outside its range; ``TaskError`` with
    ///   the reason `internal` if the system cannot create the thread.
    public convenience init(
        _ configuration: SessionConfiguration, bus: EventBus, paths: any PathSource, resolver: any NameResolver,
        time: any TimeSource, generator: some RandomNumberGenerator & Sendable, journal: TaskJournal? = nil,
        hooks: SessionHooks? = nil, observer: TaskObserver? = nil, tracer: (any TaskTracer)? = nil
    ) throws {
        try self.init(
            configuration, bus: bus, paths: paths, resolver: resolver, time: time, generator: generator,
            journal: journal, hooks: hooks, observer: observer, tracer: tracer, diagnosis: { _ in nil })
    }

    /// Creates a session that also attributes silence by the latest diagnosis of the host, and records its sockets in
    /// `own`.
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

    // MARK: - Creating tasks

    /// Creates a task.
    ///
    /// The task is suspended: ``TransferTask/resume()`` starts it.
    ///
    /// `onCompletion` is called once, on the session's thread, when the task ends: before its `completed` event and
    /// before ``TransferTask/result()`` returns, with ``TransferTask/body()`` available. It must not block. It may
    /// create and resume the next task without a thread switch.
    ///
    /// After ``invalidate(cancellingTasks:)`` a new task is cancelled immediately and publishes no event.
    /// `onCompletion` is then called before this returns, so a handler that creates tasks must check the outcome first.
    public func makeTask(
        _ request: TaskRequest, options: TaskOptions? = nil,
        onCompletion: (@Sendable (TransferTask, TaskResult) -> Void)? = nil
    ) -> TransferTask {
        self.make(request, options, nil, onCompletion)
    }

    /// Creates a task whose completion handler runs on a thread or executor of the caller's choice.
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
        // The thread does not know a task that was only created, unless it expires or the session is ending.
        guard !isOpen || request.options.expires != nil else { return task }
        if !mailbox.send(.adopt(task)), let entry = registry.end(task) {
            self.end(entry, "the session is over")
        }
        return task
    }

    /// Fills in the options that a request lacks with the session's values.
    func prepared(_ request: TaskRequest) -> TaskRequest {
        var request = self.defaultHeaders.applied(to: request)
        // A tracer starts traces itself.
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

    /// Whether the session's thread has been stuck in one turn for longer than 10 s.
    package var load: ThreadLoad? { self.dependencies.mailbox.load }

    // MARK: - Finding tasks

    /// The running tasks and the recently ended ones, oldest first.
    ///
    /// The bodies in memory of recently ended tasks are limited to 16 MiB; beyond that, the oldest tasks with a body
    /// are left out.
    public func tasks() -> [TaskInfo] { self.dependencies.registry.all.map(\.info) }

    /// The handles of the tasks in ``tasks()``.
    package var allTasks: [TransferTask] { self.dependencies.registry.all }

    /// The running or recently ended task with this id; nil if it is unknown.
    public func task(withID id: TaskID) -> TransferTask? {
        self.dependencies.registry.first { $0.id == id }
    }

    /// The events of this session's tasks from now on, for one reader: the newest `capacity` are kept, and displaced
    /// ones are counted.
    ///
    /// They are numbered from 1 per session; the bus carries the events of all sessions.
    public func events(bufferingNewest capacity: Int = 256) -> Subscription {
        self.dependencies.mailbox.events.subscribe(bufferingNewest: capacity)
    }

    /// The current counts of tasks and connections; idle connections and retry budgets are those of the previous call.
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

    /// Starts no more attempts, because the session will be invalidated: running attempts continue, and tasks that
    /// would start another one are held for `drain`.
    package func holdAll() { self.dependencies.mailbox.send(.holdAll) }

    /// Ends the session: no more tasks can be created, and the last event is `session.invalidated`.
    ///
    /// With `cancellingTasks` every task is cancelled, and disk work that is unfinished after five seconds is
    /// abandoned. After seven seconds in total the session's thread is also abandoned, if the disk or a handler blocks
    /// it: this call then publishes its tasks as cancelled. Without `cancellingTasks`, the call waits for all tasks to
    /// end.
    public func invalidate(cancellingTasks: Bool) async {
        let isFirst = self.dependencies.registry.close()
        if await self.drain(cancellingTasks: cancellingTasks) { self.stop() } else { self.abandon() }
        if isFirst { self.dependencies.bus.publish(.session(.invalidated)) }
    }

    /// Waits until no task is left; false if the time for cancelling ran out.
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

    // A blocked thread cannot be waited for: its tasks are ended without it.
    private func abandon() {
        self.dependencies.registry.noteStuckDisk()
        self.dependencies.mailbox.disconnect()?.abandon()
        self.dependencies.disk.abandon()
        for entry in self.dependencies.registry.endAll() {
            self.end(entry, "the task was cancelled, and the disk did not answer")
        }
    }

    /// Discards what the session has learned from servers, so that later tasks start as in a new session, like
    /// URLSession's `reset`.
    ///
    /// It removes the cookies of ``SessionConfiguration/cookies`` and the responses of
    /// ``SessionConfiguration/validators``, even for other sessions that share them, closes idle connections, and
    /// discards cached addresses. Running attempts keep their connections and the credentials from hooks; no later
    /// attempt uses either. TLS sessions are never kept: each connection has its own handshake.
    ///
    /// Retry budgets and circuits stay. The event `session.reset` follows; the call returns when the files are gone.
    public func reset() async {
        await withCheckedContinuation { continuation in
            let isSent = self.dependencies.mailbox.send(.reset(done: { continuation.resume() }))
            guard !isSent else { return }
            // The session has ended, but other sessions may use its jar and its store.
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
