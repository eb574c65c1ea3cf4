public import TidegateModel

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
    let board: TaskBoard
    /// What the journal has of it; nil for a task that dies with its process.
    let journaled: JournalSlip?
    private let line: SessionLine

    init(
        id: TaskID, number: UInt64, request: TaskRequest, board: TaskBoard, line: SessionLine,
        journaled: JournalSlip? = nil
    ) {
        self.id = id
        self.number = number
        self.request = request
        self.board = board
        self.line = line
        self.journaled = journaled
    }

    /// Takes one suspension back; a task starts with one.
    ///
    /// More calls than suspensions do no harm.
    public func resume() { self.line.send(.resume(self.number)) }

    /// Suspends the task once more; it goes on after as many calls of ``resume()``.
    public func suspend() { self.line.send(.suspend(self.number)) }

    /// Ends the task; does nothing once it has ended.
    public func cancel() { self.line.send(.cancel(self.number)) }

    /// The task as lists show it, now.
    public var info: TaskInfo { self.board.info }

    /// What the task is doing now.
    public var state: TaskState { self.board.info.state }

    /// How far the task's bodies have come.
    public var progress: TransferProgress { self.board.info.progress }

    /// Waits for the end and says how it was.
    ///
    /// Any number of readers; cancelling a reader does not end the task.
    public func result() async -> TaskResult { await self.board.result() }

    /// The response's body, once the task with the destination `.memory` has ended; empty before.
    public func body() -> [UInt8] { self.board.body }

    /// The task's state and progress from now on, for one reader: the newest entry wins.
    public func updates() -> TaskUpdates { TaskUpdates(board: self.board) }
}
