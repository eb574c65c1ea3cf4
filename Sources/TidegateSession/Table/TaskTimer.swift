internal import TidegateCore
internal import TidegateTransfer

/// What the driver keeps in each task's record.
struct SteppingState {
    var timer = TaskTimer.off
    /// How deep inputs are being handled; the task's shared state is written when the last one is done.
    var depth = 0
}

/// The one timer that serves all clocks of a task.
enum TaskTimer {
    case off
    /// Far enough away to be set together with others.
    case pending(due: MonotonicTime)
    case set(TransferTimer, due: MonotonicTime)

    /// When it will fire; nil if it is off.
    var due: MonotonicTime? {
        switch self {
        case .off: nil
        case .pending(let due), .set(_, let due): due
        }
    }
}
