internal import Synchronization

/// A continuation that several callers may resume; only the first one does.
final class OneShotContinuation<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) { self.continuation = Mutex(continuation) }

    /// Resumes the continuation, unless it has been.
    func resume(_ value: Value) { self.continuation.withLock { $0.take() }?.resume(returning: value) }
}
