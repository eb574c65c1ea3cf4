internal import TidegateCore
internal import TidegateTransfer

/// What is kept up to date after each input.
struct TaskUpkeep {
    var timer = TaskTimer.off
    /// True while the clocks, and what is shown of the task, have still to follow.
    var isDue = false
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
