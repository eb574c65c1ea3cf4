internal import Synchronization

/// Something with a thread that starts when it is first needed: most diagnoses never send a packet by it.
package final class LazyThread<Owner: Sendable>: Sendable {
    private let make: @Sendable () -> Owner?
    private let made = Mutex<Owner?>(nil)

    /// `make` returns nil if the thread cannot start; it is tried again with the next use.
    package init(_ make: @escaping @Sendable () -> Owner?) { self.make = make }

    /// The owner of the running thread.
    package var thread: Owner? {
        self.made.withLock { made in
            if made == nil { made = self.make() }
            return made
        }
    }

    /// The owner if its thread has started.
    package var started: Owner? { self.made.withLock { $0 } }

    /// The owner if its thread has started, which the next use then starts anew.
    package func take() -> Owner? { self.made.withLock { $0.take() } }
}
