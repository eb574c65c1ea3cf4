internal import TidegateCore
internal import TidegateTransfer

/// Keeps the timers of the session's thread; a timer comes back as its token.
protocol TimerQueue: AnyObject {
    func schedule(at moment: MonotonicTime, token: UInt64) -> TransferTimer
    func schedule(after delay: Duration, token: UInt64) -> TransferTimer
    func cancel(_ timer: TransferTimer)
}
