internal import Synchronization

/// Lets the first of several answers through, and ends whoever waits for it.
final class FirstAnswer<Answer: Sendable>: Sendable {
    private let waiter: Mutex<CheckedContinuation<Answer, Never>?>

    init(_ waiter: CheckedContinuation<Answer, Never>) { self.waiter = Mutex(waiter) }

    /// Answers, unless somebody has.
    func give(_ answer: Answer) { self.waiter.withLock { $0.take() }?.resume(returning: answer) }
}
