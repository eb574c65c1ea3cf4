internal import TidegateCore
internal import TidegateTransfer

/// What the session's thread does once a change of state is complete.
///
/// Nothing here calls back: what it brings comes in again as an input.
enum SessionEffect {
    // MARK: Events and published state

    case publish(TaskEvent.Kind, TransferTask)
    /// Published at once, after every task's event before it.
    case announce(SessionEvent)
    case show(TransferTask, TaskView)
    /// Bytes have moved, and nothing else has changed.
    case showProgress(TransferTask, TransferProgress, lastByte: MonotonicTime?)
    /// The task is over: its handlers are called, and its last event is published.
    indirect case end(TransferTask, TaskResult, EndOfTask)

    // MARK: The engine

    indirect case launch(AttemptRequest)
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
    case record(JournalEntry, answer: (task: UInt64, as: JournalWriter.Write)?)
    /// Reports to the task once entries can be written again.
    case awaitJournal(task: UInt64)
    case disk(DiskJob)
    /// Forgets every stored response; the function is called in any case.
    case forget(ValidatorStore, @Sendable () -> Void)

    // MARK: Code of the app's

    case ask(task: UInt64, question: Int, @Sendable () async -> HookAnswer)
    case stopAsking(task: UInt64)
    case showResponse(TransferTask, ResponseHead, url: String)
    case showData(TransferTask, offset: Int64, [UInt8])
    case reportProgress(TransferTask, TransferProgress)
    /// Calls a completion handler on its executor; its return is reported unless nothing waits for it.
    case runHandler(TransferTask, TaskResult, isAwaited: Bool)
    case call(@Sendable () -> Void)
}

/// Work for the disk's thread, because it may take long.
struct DiskJob: Sendable {
    /// The task that the result is reported to; nil if nothing waits for it.
    let task: UInt64?
    /// What is reported if the thread is stopping and does not do it.
    let refusal: DiskEvent
    let work: @Sendable () -> DiskEvent?

    init(task: UInt64? = nil, refusal: DiskEvent = .refused, _ work: @escaping @Sendable () -> DiskEvent?) {
        self.task = task
        self.refusal = refusal
        self.work = work
    }

    init(committing task: UInt64, _ work: @escaping @Sendable () throws(FileError) -> Bool) {
        self.init(task: task) { .committed(Result(catching: work)) }
    }

    /// Makes a file's bytes durable, and then calls `done`, which may promise them to a later process.
    init(synchronizing file: DownloadFile, then done: @escaping @Sendable () throws(FileError) -> Void) {
        self.init {
            // Bytes first: the record never promises more than the disk has.
            if (try? file.synchronize()) != nil { try? done() }
            return nil
        }
    }
}

/// What other threads see of a task.
struct TaskView {
    /// Nil for a task that is over: its end is published later.
    var state: TaskState?
    var progress: TransferProgress
    var started: WallTime?
    var stall: String?
    var held: [HoldReason] = []
    var lastByte: MonotonicTime?
    var response: (head: ResponseHead, url: String?, isRevalidated: Bool)?
    /// The response's body, once the task is over.
    var body: [UInt8]?
}

/// What is left of a task at its end, besides its result.
struct EndOfTask {
    let resumeData: ResumeData?
    /// True if the next process goes on with it.
    let isPreserved: Bool
    /// How many bytes its body holds.
    let bodyBytes: Int
}
