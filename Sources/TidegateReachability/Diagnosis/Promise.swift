internal import Synchronization

/// A value that arrives once, from a callback; the first one counts, and one task may wait for it.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var isOver = false
        var waiter: CheckedContinuation<Value?, Never>?
    }

    private let state = Mutex(State())

    /// Sets the value, unless there is one or the wait for it is over.
    func fulfil(_ value: Value) { self.end(value) }

    private func end(_ value: Value?) {
        let waiter = self.state.withLock { state in
            if !state.isOver { (state.value, state.isOver) = (value, true) }
            return state.waiter.take()
        }
        waiter?.resume(returning: value)
    }

    /// The value once it is there; nil if the Swift task is cancelled or `timer` calls back first.
    func value(orAfter timer: (@escaping @Sendable () -> Void) -> Void = { _ in }) async -> Value? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let (isOver, value) = self.state.withLock { state in
                    if !state.isOver { state.waiter = waiter }
                    return (state.isOver, state.value)
                }
                if isOver { waiter.resume(returning: value) } else { timer { self.end(nil) } }
            }
        } onCancel: {
            self.end(nil)
        }
    }
}
