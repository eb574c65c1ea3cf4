internal import Synchronization

/// A value that arrives once, from a callback; the first one counts, and one task may wait for it.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var isAbandoned = false
        var waiter: OneShotContinuation<Value?>?
    }

    private let state = Mutex(State())

    /// Sets the value, unless there is one.
    func fulfil(_ value: Value) {
        let waiter = self.state.withLock { state -> OneShotContinuation<Value?>? in
            if state.value == nil { state.value = value }
            return state.waiter.take()
        }
        waiter?.resume(value)
    }

    /// The value once it is there; nil if the Swift task is cancelled or `timer` calls back first.
    func value(orAfter timer: (@escaping @Sendable () -> Void) -> Void = { _ in }) async -> Value? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = OneShotContinuation<Value?>(continuation)
                let (value, isAbandoned) = self.state.withLock { state -> (Value?, Bool) in
                    if state.value == nil, !state.isAbandoned { state.waiter = waiter }
                    return (state.value, state.isAbandoned)
                }
                if value != nil || isAbandoned { return waiter.resume(value) }
                timer { waiter.resume(nil) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state -> OneShotContinuation<Value?>? in
                state.isAbandoned = true
                return state.waiter.take()
            }
            waiter?.resume(nil)
        }
    }
}
