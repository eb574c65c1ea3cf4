internal import TidegateCore

/// What the watchdog saw when it looked last, and what follows from the next look.
///
/// Judged by the processor time of the thread: a process that was stopped has done nothing wrong.
struct CallSample {
    /// What is to be done.
    enum Decision: Hashable {
        case goOn
        /// The call has used its time; `isLastResort` if it went on although its own socket was shut down.
        case endCall(isLastResort: Bool)
        /// There have been no calls for a while.
        case sleep
    }

    /// The processor time that one call may use.
    static let limit = Duration.seconds(2)
    // Looks without a call before the watchdog sleeps.
    private static let patience = 20

    private var call: UInt64?
    private var start = Duration.zero
    private var quiet = 0

    /// Looks at the call under way, nil for none, and at the processor time that the thread has used in all.
    mutating func look(at call: UInt64?, processorTime: Duration) -> Decision {
        guard let call else {
            self.call = nil
            self.quiet += 1
            return self.quiet < CallSample.patience ? .goOn : .sleep
        }
        self.quiet = 0
        guard call == self.call else {
            self.call = call
            self.start = processorTime
            return .goOn
        }
        let used = processorTime - self.start
        guard used >= CallSample.limit else { return .goOn }
        return .endCall(isLastResort: used >= CallSample.limit + .seconds(1))
    }
}
