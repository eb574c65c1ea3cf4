internal import TidegateCore
internal import TidegateTransfer

/// What follows from inputs, in order: events to publish, and what is to be done outside.
///
/// Nothing that is done here calls back: what it brings comes in again as an input.
struct EffectQueue: ~Copyable {
    /// What is published with the next ``EffectRunner/flush(_:)``.
    var events = ReusedQueue<Event.Payload>()
    private var effects = ReusedQueue<SessionEffect>()

    /// Adds an event; a span of the task's records it, unless it has.
    mutating func publish(_ change: consuming TaskEvent.Kind, of task: TransferTask, isTraced: Bool = false) {
        if let span = task.handlers?.span, !isTraced { self.effects.append(.trace(span, copy change)) }
        self.events.append(.task(TaskEvent(id: task.id, taskKind: task.request.kind, trace: task.trace, kind: change)))
    }

    mutating func announce(_ event: SessionEvent) { self.events.append(.session(event)) }

    mutating func add(_ effect: consuming SessionEffect) { self.effects.append(effect) }

    /// The next thing to be done; nil once everything is.
    mutating func takeEffect() -> SessionEffect? { self.effects.takeFirst() }
}

/// What the session's thread does once a change of state is complete.
enum SessionEffect {
    // MARK: Events and published state

    indirect case trace(any TaskSpan, TaskEvent.Kind)
    case show(TaskRecord)
    /// Bytes have moved, and nothing else has changed.
    case showProgress(TaskRecord)
    /// The task is over, and waits for something before that is published.
    indirect case showWaiting(TransferTask, TaskState, HoldReason)
    /// The task is over: its handlers are called, and its last event is published.
    indirect case end(TransferTask, TaskResult, EndOfTask)

    // MARK: The engine

    case launch(Indirect<AttemptRequest>)
    case discard(AttemptID)
    case pause(AttemptID)
    case unpause(AttemptID)
    /// The response's body may come, into another sink if one is given.
    case proceed(AttemptID, into: BodySink?)
    case sinkHasRoom(AttemptID)
    case sourceHasBytes(AttemptID)
    case beginPool

    // MARK: Names, the journal and the disk

    case resolve(String, target: UInt64, lookup: Int)
    case forgetNames
    /// Writes an entry; the answer comes back if a task waits for it.
    indirect case record(JournalEntry, answer: (task: UInt64, as: JournalWriter.Write)?)
    /// Reports to the task once entries can be written again.
    case awaitJournal(task: UInt64)
    indirect case disk(DiskJob)
    /// Forgets every stored response; the function is called in any case.
    case forget(ValidatorStore, @Sendable () -> Void)

    // MARK: Code of the app's

    case ask(task: UInt64, question: Int, @Sendable () async -> HookAnswer)
    case stopAsking(task: UInt64)
    indirect case showResponse(TransferTask, ResponseHead, url: String)
    case showData(TransferTask, offset: Int64, [UInt8])
    indirect case reportProgress(TransferTask, TransferProgress)
    /// Calls a completion handler on its executor; its return is reported unless nothing waits for it.
    indirect case runHandler(TransferTask, TaskResult, isAwaited: Bool)
    case call(@Sendable () -> Void)
}

/// Work for the disk's thread, because it may take long.
struct DiskJob: Sendable {
    /// The task that the result is reported to; nil if nothing waits for it.
    let task: UInt64?
    /// What is reported if the thread is stopping and does not do it.
    let refusal: DiskEvent
    let work: @Sendable () -> DiskEvent?
}

/// What is left of a task at its end, besides its result.
struct EndOfTask {
    let resumeData: Indirect<ResumeData>?
    /// True if the next process goes on with it.
    let isPreserved: Bool
    /// The tasks that waited for it.
    let dependents: [UInt64]
    /// How many bytes its body holds.
    let bodyBytes: Int
}
