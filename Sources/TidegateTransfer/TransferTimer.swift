package import TidegateLoop

/// A timer of the transfer thread's, for rooms that do not see the loop.
package typealias TransferTimer = TimerID
