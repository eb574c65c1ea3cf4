public import TidegateCore

/// A task as its user holds it.
///
/// Every call returns at once; what comes of it is told by events, ``info`` and results.
///
/// A task goes on to its end although nobody holds it.
public final class TransferTask: Sendable {
    /// The task's id.
    public let id: TaskID
    /// What was asked for.
    public let request: TaskRequest

    /// The task's place in its session, in the order made.
    let number: UInt64
    let board: SharedTaskState
    /// What the journal has of it; nil for a task that dies with its process.
    let journaled: JournalRef?
    /// What it was given beside its request; nil for most.
    let traits: TaskHandlers?
    private let line: Mailbox

    init(
        id: TaskID, number: UInt64, request: TaskRequest, board: SharedTaskState, line: Mailbox,
        journaled: JournalRef? = nil, traits: TaskHandlers? = nil
    ) {
        self.id = id
        self.number = number
        self.request = request
        self.board = board
        self.line = line
        self.journaled = journaled
        self.traits = traits
    }

    /// Takes one suspension back; a task starts with one.
    ///
    /// More calls than suspensions do no harm.
    public func resume() { self.line.send(.resume(self.number)) }

    /// Suspends the task once more; it goes on after as many calls of ``resume()``.
    public func suspend() { self.line.send(.suspend(self.number)) }

    /// Ends the task; does nothing once it has ended.
    public func cancel() { self.line.send(.cancel(self.number)) }

    /// Ends a download and keeps what has come, for another task; waits until that is safe.
    ///
    /// Nil where the task is no download, has brought nothing yet, is over already, or its server gives nothing to go
    /// on by.
    public func cancelProducingResumeData() async -> ResumeData? {
        self.line.send(.cancelKeeping(self.number))
        _ = await self.result()
        return self.resumeData
    }

    /// What an unfinished download has left to go on by, once it is over; nil where nothing was kept.
    ///
    /// After ``cancelProducingResumeData()``, and after the failure of a download to a ``Destination`` that continues.
    public var resumeData: ResumeData? { self.board.resumeData }

    /// The head of the answer, once it is here: the last one of all attempts.
    public var response: TaskResponse? { self.board.response(to: self.request) }

    /// The task as lists show it, now.
    public var info: TaskInfo { self.info(showing: self.board.face) }

    /// What the task is doing now.
    public var state: TaskState { self.board.face.state }

    /// How far the task's bodies have come.
    public var progress: TransferProgress { self.board.face.progress }

    /// Waits for the end and says how it was.
    ///
    /// Any number of readers; cancelling a reader does not end the task.
    public func result() async -> TaskResult { await self.board.result() }

    /// The response's body, once the task with the destination `.memory` has ended; empty before.
    public func body() -> [UInt8] { self.board.body }

    /// The task's state and progress from now on, for one reader: the newest entry wins.
    public func updates() -> TaskUpdates { TaskUpdates(of: self) }

    /// The task's events from now on, for one reader: the newest `capacity` are kept, and what they displace is counted.
    ///
    /// Ends only when it is cancelled; `completed` is the last event.
    public func events(bufferingNewest capacity: Int = 64) -> Subscription {
        let id = self.id
        return self.line.tap.subscribe(bufferingNewest: capacity) { event in
            if case .task(let task) = event.payload { task.id == id } else { false }
        }
    }

    /// How far the response's body has come, as something that can be paused and cancelled.
    public var download: TaskProgress { TaskProgress(task: self, direction: .download) }

    /// How far the request's body has come, as something that can be paused and cancelled.
    public var upload: TaskProgress { TaskProgress(task: self, direction: .upload) }

    func info(showing face: TaskSnapshot) -> TaskInfo {
        TaskInfo(
            id: self.id, name: self.request.name, kind: self.request.kind, method: self.request.method,
            url: self.board.url, state: face.state, progress: face.progress, created: self.board.created,
            started: face.started, file: face.file ?? self.request.destination.path)
    }

    /// The task is over for everybody who waits.
    func finish(_ result: TaskResult, resumeData: ResumeData? = nil) {
        self.board.finish(result, resumeData: resumeData)
        if case .stream(let stream) = self.request.body { stream.stop() }
        guard case .stream(let stream) = self.request.destination else { return }
        stream.end(
            result.failure.map {
                TaskError(
                    reason: $0, attempts: result.attempts, attribution: result.attribution,
                    underlying: result.explanation ?? "the task failed")
            })
    }
}
