package import TidegateLoop

/// What runs attempts on the transfer thread: created on the thread, called only there, released there.
///
/// Every method may call every method of the engine.
package protocol TransferClient: AnyObject, SendableMetatype {
    /// What other threads can send to it.
    associatedtype Command: Sendable

    /// Carries out a command.
    func receive(_ command: Command)
    /// An attempt made progress or is over.
    func attempt(_ id: AttemptID, reported report: AttemptReport)
    /// A timer is due; `token` is what it was scheduled with.
    func timerFired(_ token: UInt64)
    /// Everything that was ready has been handled and reported; the thread will wait next.
    func batchEnded()
    /// The thread ends after this call; attempts still running are dropped without a report.
    func stopping()
}

/// A timer of the transfer thread, for modules that do not import the loop.
package typealias TransferTimer = TimerID
