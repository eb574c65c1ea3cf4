internal import TidegateCore
internal import TidegateTransfer

/// The purpose of a timer on the session's thread.
enum SessionTimer: Hashable {
    /// A task's clocks.
    case task(UInt64)
    /// A timer of the path gate for a target; targets are counted from 1.
    case target(UInt64, PathTimer)
    /// The disk's time at the end of the session is over.
    case disk
    /// Tasks with a noted timer need one set.
    case pendingTimers

    // Tasks have even tokens. Odd tokens have the kind in the next two bits, followed by the target, or 0 for none.
    init?(token: UInt64) {
        let target = token >> 3
        if token & 1 == 0 {
            self = .task(token >> 1)
        } else if target == 0 {
            self = token == 1 ? .disk : .pendingTimers
        } else if let timer = PathTimer(rawValue: token >> 1 & 3) {
            self = .target(target, timer)
        } else {
            return nil
        }
    }

    /// The token that identifies the timer when it fires.
    var token: UInt64 {
        switch self {
        case .task(let number): number << 1
        case .target(let number, let timer): number << 3 | timer.rawValue << 1 | 1
        case .disk: 1
        case .pendingTimers: 3
        }
    }
}

/// The purposes of a target's timers.
enum PathTimer: UInt64, CaseIterable {
    case firstVerdict, canary, close
}

/// The timers of the session's thread; a timer that fires is reported by its token.
protocol TimerQueue: AnyObject {
    func schedule(at moment: MonotonicTime, token: UInt64) -> TransferTimer
    func schedule(after delay: Duration, token: UInt64) -> TransferTimer
    func cancel(_ timer: TransferTimer)
}
