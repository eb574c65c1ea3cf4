internal import TidegateCore

/// The phases, inputs and effects of the machine.
extension TaskMachine {
    enum Phase: Sendable, Hashable {
        /// No attempt, and none may start.
        case idle
        /// Nothing is in the way; the gate and the connection limiter are asked.
        case seeking
        /// An attempt is under way.
        case running
        /// An attempt is under way, and its user has suspended the task.
        case paused
        /// An attempt has brought an answer, and a hook is asked what follows from it.
        case deciding
        /// Every byte is here; the file is being committed.
        case finishing
        /// Every byte is here, and something keeps the file from being committed.
        case parked
        /// Over.
        case ended(TaskOutcome)
    }

    enum Input: Sendable, Hashable {
        case resume
        case suspend(TaskEvent.SuspendReason)
        case cancel
        case hold(HoldReason, detail: String?)
        case release(HoldReason)
        /// The gate and the limiter let the task through.
        case admit
        /// The pause lasted too long, or the attempt cannot pause.
        case releaseConnection
        /// The path under the attempt is gone, and the gate is shut.
        case losePath(detail: String?)
        /// The path under the attempt is gone, but there is another one.
        case changePath
        /// The attempt is over and another one follows at once.
        case attemptLeads
        /// The attempt failed and another one follows after a delay.
        case attemptBacksOff
        /// The attempt failed, and another one follows once the system lets it.
        case attemptHolds(HoldReason, detail: String?)
        /// The attempt is over, and a hook says what follows.
        case attemptAsks
        /// The hook says: another attempt.
        case decided
        /// The attempt brought everything.
        case attemptCompletes(needsCommit: Bool)
        /// The file is committed, or could not be.
        case committed(isGood: Bool)
        /// The file cannot be committed until the system lets it: one that is whole waits, any other one is fetched
        /// again.
        case commitHolds(HoldReason, detail: String?, isWhole: Bool)
        /// What came is not what was asked for: another attempt follows at once.
        case commitLeads
        /// The task cannot go on.
        case fail
        /// An earlier process had done it already.
        case foundDone
    }

    /// What is published.
    enum Report: Sendable, Hashable {
        case resumed
        case suspended(TaskEvent.SuspendReason)
        case held(HoldReason, detail: String?)
        case released(HoldReason, after: Duration)
        case attemptStarted(Int)
    }

    /// Why an attempt is taken off the wire.
    enum DetachCause: Sendable, Hashable {
        case suspended, pathLost, ended
    }

    enum Effect: Sendable, Hashable {
        case report(Report)
        /// Ask the gate and the limiter; the answer is `hold` or `admit`.
        case seek
        case stopSeeking
        case start(attempt: Int)
        case pause
        case unpause
        case detach(DetachCause)
        case commit
        case abandonCommit
        /// The last effect of all.
        case end(TaskOutcome)
    }
}
