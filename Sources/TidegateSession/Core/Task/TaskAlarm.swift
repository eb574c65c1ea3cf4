internal import TidegateCore
internal import TidegateTransfer

/// The one timer that serves all clocks of a task.
enum TaskAlarm {
    case off
    /// Far enough away to be left to the next sweep.
    case noted(due: MonotonicTime)
    case set(TransferTimer, due: MonotonicTime)

    /// When it will ring; nil where it is off.
    var due: MonotonicTime? {
        switch self {
        case .off: nil
        case .noted(let due), .set(_, let due): due
        }
    }
}
