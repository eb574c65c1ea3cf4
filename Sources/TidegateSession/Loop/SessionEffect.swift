internal import TidegateCore
internal import TidegateTransfer

/// The effects of inputs, in order: events to publish, and work outside the state.
///
/// The work never calls back: its results arrive as inputs.
struct EffectQueue: ~Copyable {
    /// The events for the next ``EffectRunner/flush(_:)``.
    var events = ReusedQueue<Event.Payload>()
    private var effects = ReusedQueue<SessionEffect>()

    /// Adds an event; the task's span records it, unless `isTraced`.
    mutating func publish(_ change: consuming TaskEvent.Kind, of task: TransferTask, isTraced: Bool = false) {
        if let span = task.handlers?.span, !isTraced { self.effects.append(.trace(span, copy change)) }
        self.events.append(.task(TaskEvent(id: task.id, taskKind: task.request.kind, trace: task.trace, kind: change)))
    }

    mutating func announce(_ event: SessionEvent) { self.events.append(.session(event)) }

    mutating func add(_ effect: consuming SessionEffect) { self.effects.append(effect) }

    /// The next effect; nil after the last one.
    mutating func takeEffect() -> SessionEffect? { self.effects.takeFirst() }
}

/// Work of the session's thread after a state change is complete.
enum SessionEffect {
    // MARK: Events and published state

    indirect case trace(any TaskSpan, TaskEvent.Kind)
    case show(TaskRecord)
    /// Bytes have moved; nothing else has changed.
    case showProgress(TaskRecord)
    /// The task has ended, but publishing its end waits for something.
    indirect case showWaiting(TransferTask, TaskState, HoldReason)
    /// The task has ended: its handlers are called and its last event is published.
    indirect case end(TransferTask, TaskResult, EndOfTask)

    // MARK: The engine

    case launch(Indirect<AttemptRequest>)
    case discard(AttemptID)
    case pause(AttemptID)
    case unpause(AttemptID)
    /// The response's body may arrive, in another sink if one is given.
    case proceed(AttemptID, into: BodySink?)
    case sinkHasRoom(AttemptID)
    case sourceHasBytes(AttemptID)
    case beginPool

    // MARK: Names, the journal and the disk

    case resolve(String, target: UInt64, lookup: Int)
    case forgetNames
    /// Writes an entry; the answer is reported if a task waits for it.
    indirect case record(JournalEntry, answer: (task: UInt64, as: JournalWriter.Write)?)
    /// Reports to the task when entries can be written again.
    case awaitJournal(task: UInt64)
    indirect case disk(DiskJob)
    /// Removes every stored response; always calls the function.
    case forget(ValidatorStore, @Sendable () -> Void)

    // MARK: The app's code

    case ask(task: UInt64, question: Int, @Sendable () async -> HookAnswer)
    case stopAsking(task: UInt64)
    indirect case showResponse(TransferTask, ResponseHead, url: String)
    case showData(TransferTask, offset: Int64, [UInt8])
    indirect case reportProgress(TransferTask, TransferProgress)
    /// Calls a completion handler on its executor; its return is reported if something waits for it.
    indirect case runHandler(TransferTask, TaskResult, isAwaited: Bool)
    case call(@Sendable () -> Void)
}

/// Work that may be slow, for the disk's thread.
struct DiskJob: Sendable {
    /// The task that receives the result; nil if none does.
    let task: UInt64?
    /// The report if the thread is stopping and refuses the job.
    let refusal: DiskEvent
    let work: @Sendable () -> DiskEvent?
}

/// The state of a task at its end, besides its result.
struct EndOfTask {
    let resumeData: Indirect<ResumeData>?
    /// True if the next process continues it.
    let isPreserved: Bool
    /// The tasks that waited for it.
    let dependents: [UInt64]
    /// The number of bytes in its body.
    let bodyBytes: Int
}
