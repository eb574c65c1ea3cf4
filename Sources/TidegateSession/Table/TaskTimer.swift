internal import TidegateCore
internal import TidegateTransfer

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
