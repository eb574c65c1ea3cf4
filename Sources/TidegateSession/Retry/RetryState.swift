internal import TidegateCore

/// What the retry controller keeps in each task's record.
struct RetryState {
    var counter = RetryCounter()
    /// How often in a row this host itself refused to send.
    var linkFailures = 0
    /// The origin whose open circuit this task tests; nil for most.
    var probing: Origin?
    /// The origin whose open circuit this task waits for; nil for most.
    var waitsForCircuit: Origin?
    /// What the next attempt still has to be paid with.
    var cost: RetryPrice?
}
