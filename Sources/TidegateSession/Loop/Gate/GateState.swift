internal import TidegateCore

/// What the path gate keeps in each task's record.
struct GateState {
    /// The target of the current hop; nil before the first attempt.
    var target: TargetState?
    /// True once the task was in one of the target's lists.
    var isListed = false
    /// When the task began to wait for its path; nil while it does not.
    var waitBegan: MonotonicTime?
    /// True once it was published how the task left its gate, for this attempt.
    var wasReported = false
    /// Why the gate is shut; nil while it is open.
    var shut: GateEvaluator.Shut?
}
