internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// What may change of a task as lists show it; the rest follows from its request.
struct TaskSnapshot: Sendable {
    var state = TaskState.suspended
    var progress = TransferProgress()
    var started: WallTime?
    /// Where the download was put, once it was.
    var file: String?
}

/// What everybody may see of a task: written by the transfer thread, read by anybody.
final class SharedTaskState: Sendable {
    struct State {
        var face = TaskSnapshot()
        var held: [HoldReason] = []
        var lastByte: MonotonicTime?
        /// Boxed: most tasks wait for long without one, and each would keep room for it.
        var ending: Ending?
        var body: [UInt8] = []
        var head: ResponseHead?
        /// The URL that answered, where it is not the request's.
        var finalURL: String?
        /// True while a progress has the task paused.
        var isPausedByProgress = false
        var waiting: [CheckedContinuation<TaskResult, Never>] = []
        var watchers: [LatestValue] = []
    }

    /// How it was.
    final class Ending: Sendable {
        let result: TaskResult
        let resumeData: ResumeData?

        init(_ result: TaskResult, _ resumeData: ResumeData?) {
            self.result = result
            self.resumeData = resumeData
        }
    }

    /// The task's URL as it is told.
    let url: String
    let created: WallTime
    private let state = Mutex(State())

    init(url: String, created: WallTime) {
        self.url = url
        self.created = created
    }

    var face: TaskSnapshot { self.state.withLock { $0.face } }

    var body: [UInt8] { self.state.withLock { $0.body } }

    var resumeData: ResumeData? { self.state.withLock { $0.ending?.resumeData } }

    func response(to request: TaskRequest) -> TaskResponse? {
        self.state.withLock { state in state.head.map { TaskResponse($0, url: state.finalURL ?? request.address.text) }
        }
    }

    /// Notes that a progress has paused the task, or not any more; false where that was so before.
    func pauseByProgress(_ isPaused: Bool) -> Bool {
        self.state.withLock { state in
            defer { state.isPausedByProgress = isPaused }
            return state.isPausedByProgress != isPaused
        }
    }

    /// Lends the state for looking.
    func look<Value: Sendable>(_ read: (borrowing State) -> Value) -> Value { self.state.withLock { read($0) } }

    /// Changes what is seen and tells the watchers.
    func update(_ change: (inout State) -> Void) {
        let news = self.state.withLock { state -> (watchers: [LatestValue], face: TaskSnapshot)? in
            change(&state)
            // Few tasks are watched: nothing is copied for nobody.
            return state.watchers.isEmpty ? nil : (state.watchers, state.face)
        }
        guard let news else { return }
        for watcher in news.watchers { watcher.offer(news.face) }
    }

    /// Writes the result down; whoever waits goes on.
    ///
    /// Nothing changes afterwards.
    func finish(_ result: TaskResult, resumeData: ResumeData? = nil) {
        let ending = Ending(result, resumeData)
        let (waiting, watchers) = self.state.withLock { state in
            state.face.state = .completed(result.outcome)
            state.face.file = result.file
            state.held = []
            state.ending = ending
            return (state.waiting.takeAll(), state.watchers.takeAll())
        }
        // Nothing changes any more, so that what is read now is what was written.
        for watcher in watchers { watcher.end(with: self.face) }
        for continuation in waiting { continuation.resume(returning: result) }
    }

    func result() async -> TaskResult {
        await withCheckedContinuation { continuation in
            let ending = self.state.withLock { state in
                if state.ending == nil { state.waiting.append(continuation) }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending.result) }
        }
    }

    func watch() -> LatestValue {
        let slot = LatestValue()
        let (face, isOver) = self.state.withLock { state in
            if state.ending == nil { state.watchers.append(slot) }
            return (state.face, state.ending != nil)
        }
        if isOver { slot.end(with: face) } else { slot.offer(face) }
        return slot
    }

    func unwatch(_ slot: LatestValue) {
        self.state.withLock { state in state.watchers.removeAll { $0 === slot } }
    }
}

extension Array {
    fileprivate mutating func takeAll() -> [Element] {
        let all = self
        self = []
        return all
    }
}
