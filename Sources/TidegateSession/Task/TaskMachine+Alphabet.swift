internal import TidegateCore

/// What a machine can be in, what it is told, and what it answers.
extension TaskMachine {
    enum Phase: Sendable, Hashable {
        /// No attempt, and none may start.
        case idle
        /// Nothing is in the way; the gate and the queue are being asked.
        case seeking
        /// An attempt is under way.
        case running
        /// An attempt is under way, and its user has suspended the task.
        case paused
        /// An attempt has brought an answer, and a hook is asked what follows from it.
        case deciding
        /// Every byte is here; the file is being put in its place.
        case finishing
        /// Every byte is here, and something keeps the file from its place.
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
        /// The gate and the queue let the task through.
        case admit
        /// The pause lasted too long, or the attempt cannot pause.
        case giveBack
        /// The way under the attempt is gone, and so is the gate's consent.
        case losePath(detail: String?)
        /// The way under the attempt is gone, but there is another one.
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
        /// The file is in its place, or could not be put there.
        case committed(isGood: Bool)
        /// The file cannot be put in its place until the system lets it: one that is whole waits beside it, any other
        /// one is fetched again.
        case commitHolds(HoldReason, detail: String?, isWhole: Bool)
        /// What came is not what was asked for: another attempt follows at once.
        case commitLeads
        /// The task cannot go on.
        case fail
        /// An earlier process had done it already.
        case foundDone
    }

    /// What is told to everybody.
    enum Note: Sendable, Hashable {
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
        case tell(Note)
        /// Ask the gate and the queue; the answer is `hold` or `admit`.
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
