internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// The changing part of a task's entry in lists; the rest follows from its request.
struct TaskSnapshot: Sendable {
    var state = TaskState.suspended
    var progress = TransferProgress()
    var started: WallTime?
    /// Why a running attempt makes no progress; nil if it does.
    var stall: String?
    /// The final path of the download, once the file is there.
    var file: String?
}

/// State shared with other threads.
///
/// Written only on the transfer thread.
final class PublishedTaskState: Sendable {
    struct State {
        var snapshot = TaskSnapshot()
        var held: [HoldReason] = []
        var lastByte: MonotonicTime?
        /// How the task ended, and its remainder for another task; nil before.
        ///
        /// The remainder is boxed, because few tasks have one and each would reserve room for it.
        var end: (result: TaskResult, leftover: Indirect<ResumeData>?)?
        var body: [UInt8] = []
        /// The head of the last response, the URL that answered if it is not the request's, and whether the response is
        /// a stored one.
        var response: (head: ResponseHead, url: String?, isRevalidated: Bool)?
        /// True while a ``TaskProgress`` has paused the task.
        var isPausedByProgress = false
        var waiting: [CheckedContinuation<TaskResult, Never>] = []
        var watchers: [AsyncStream<TaskSnapshot>.Continuation] = []
        /// The subscriptions that end with the task.
        var subscriptions: [WeakSubscription] = []
    }

    struct WeakSubscription {
        weak var subscription: Subscription?
    }

    /// The published form of the task's URL.
    let url: String
    let created: WallTime
    /// The lines that its attempts sent and received; nil if they are not recorded.
    let exchanges: ExchangeLog?
    private let state = Mutex(State())

    init(url: String, created: WallTime, exchanges: ExchangeLog? = nil) {
        self.url = url
        self.created = created
        self.exchanges = exchanges
    }

    var snapshot: TaskSnapshot { self.state.withLock { $0.snapshot } }

    var body: [UInt8] { self.state.withLock { $0.body } }

    /// How the task ended; nil before.
    var result: TaskResult? { self.state.withLock { $0.end?.result } }

    var resumeData: ResumeData? { self.state.withLock { $0.end?.leftover?.value } }

    func response(to request: TaskRequest) -> TaskResponse? {
        self.state.withLock { state in
            state.response.map {
                TaskResponse(url: $0.url ?? request.address.text, isRevalidated: $0.isRevalidated, head: $0.head)
            }
        }
    }

    /// Records whether a ``TaskProgress`` has paused the task; false if nothing changed.
    func pauseByProgress(_ isPaused: Bool) -> Bool {
        self.state.withLock { exchange(&$0.isPausedByProgress, with: isPaused) != isPaused }
    }

    /// Reads the state.
    func read<Value: Sendable>(_ read: (borrowing State) -> Value) -> Value { self.state.withLock { read($0) } }

    /// Changes the state and notifies the watchers.
    func update(_ change: (inout State) -> Void) {
        let changed = self.state.withLock {
            state -> (watchers: [AsyncStream<TaskSnapshot>.Continuation], snapshot: TaskSnapshot)? in
            change(&state)
            // Few tasks are watched: nothing is copied for the others.
            return state.watchers.isEmpty ? nil : (state.watchers, state.snapshot)
        }
        guard let changed else { return }
        for watcher in changed.watchers { watcher.yield(changed.snapshot) }
    }

    /// Sets the result and resumes all waiting callers; nothing changes afterwards.
    func finish(_ result: TaskResult, resumeData: Indirect<ResumeData>? = nil) {
        let (waiting, watchers, subscriptions) = self.state.withLock { state in
            state.snapshot.state = .completed(result.outcome)
            state.snapshot.file = result.file
            state.held = []
            state.end = (result, resumeData)
            return (
                exchange(&state.waiting, with: []), exchange(&state.watchers, with: []),
                exchange(&state.subscriptions, with: [])
            )
        }
        // Nothing changes any more, so a value read now is final.
        for watcher in watchers {
            watcher.yield(self.snapshot)
            watcher.finish()
        }
        for entry in subscriptions { entry.subscription?.cancel() }
        for continuation in waiting { continuation.resume(returning: result) }
    }

    func result() async -> TaskResult {
        await withCheckedContinuation { continuation in
            let result = self.state.withLock { state in
                if state.end == nil { state.waiting.append(continuation) }
                return state.end?.result
            }
            if let result { continuation.resume(returning: result) }
        }
    }

    /// Ends a subscription when the task is over; immediately if it already is.
    func endWithTask(_ subscription: Subscription) {
        let isOver = self.state.withLock { state in
            if state.end == nil { state.subscriptions.append(WeakSubscription(subscription: subscription)) }
            return state.end != nil
        }
        if isOver { subscription.cancel() }
    }

    /// The newest snapshots for one reader, from now until the task ends.
    func watch() -> (stream: AsyncStream<TaskSnapshot>, continuation: AsyncStream<TaskSnapshot>.Continuation) {
        let newest = AsyncStream.makeStream(of: TaskSnapshot.self, bufferingPolicy: .bufferingNewest(1))
        let (snapshot, isOver) = self.state.withLock { state in
            if state.end == nil { state.watchers.append(newest.continuation) }
            return (state.snapshot, state.end != nil)
        }
        newest.continuation.yield(snapshot)
        if isOver { newest.continuation.finish() }
        return newest
    }

    func unwatch(_ watcher: AsyncStream<TaskSnapshot>.Continuation) {
        self.state.withLock { state in state.watchers.removeAll { $0 == watcher } }
    }
}
