internal import TidegateCore
internal import TidegateTransfer

/// What a task's result will say.
struct ResultState {
    var started: WallTime?
    var firstResumed: MonotonicTime?
    var status: Int?
    var wireBytes: Int64 = 0
    var sentBytes: Int64 = 0
    var delivered: Int64 = 0
    var refetched: Int64 = 0
    var phases = PhaseDurations()
    var failure: TaskFailure?
    var attribution: Attribution?
    /// Why the task failed; nil before that is known.
    var sentence: FailureSentence?
    var requireUnmet: Requirement?
    var movedTo: String?
    var sha256: String?
    /// The head of the last answer.
    var head: ResponseHead?
    /// True if the server has confirmed a stored response, which is the task's.
    var isRevalidated = false
    /// True once the end was published; nothing follows it.
    var isPublished = false
}
