internal import CLinux
internal import Glibc
public import Synchronization

/// A queue of commands for one thread: any thread adds commands, and the owner takes them in order.
///
/// The wake descriptor is written only while the owner waits. A burst costs one system call; a command sent to a busy
/// thread, by itself or by others, costs none.
// Inlinable, so that each module specialises it for its commands: generic access would cost more than the lock. Only
// the bodies of types that are usable from inlinable code leave their module.
@usableFromInline
package final class Inbox<Command: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var commands: [Command] = []
        @usableFromInline var isClosed = false
        /// The thread is waiting or about to wait: the next command must wake it.
        @usableFromInline var isParked = false

        @usableFromInline
        init() {}

        @inlinable
        mutating func unpark() -> Bool { exchange(&self.isParked, with: false) }
    }

    /// Readable while the thread is being woken (eventfd(2)).
    let descriptor: Int32
    @usableFromInline let state = Mutex(State())

    package init() throws(LoopError) {
        let descriptor = DescriptorShortage.bounded(tg_eventfd(), .thread)
        guard descriptor >= 0 else { throw LoopError(operation: "eventfd", code: errno) }
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }

    /// Adds a command; false if the inbox is closed, in which case the command is not executed.
    @inlinable
    package func put(_ command: Command) -> Bool {
        let (isOpen, wasParked) = self.state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.commands.append(command)
            return (true, state.unpark())
        }
        if wasParked { self.wake() }
        return isOpen
    }

    /// The commands that wait.
    var count: Int { self.state.withLock { $0.commands.count } }

    /// Announces that the thread is about to wait; false if commands are pending, in which case it must not wait.
    ///
    /// Checking and parking are one step: a command is either seen here or wakes the thread.
    @inlinable
    package func park() -> Bool {
        self.state.withLock { state in
            state.isParked = state.commands.isEmpty && !state.isClosed
            return state.isParked
        }
    }

    /// Moves all commands into an empty array, whose capacity the inbox then reuses; true if no more will follow.
    @inlinable
    package func takeAll(into commands: inout [Command]) -> Bool {
        self.state.withLock { state in
            state.isParked = false
            swap(&state.commands, &commands)
            return state.isClosed
        }
    }

    /// Resets the wake descriptor.
    func drain() {
        var count: UInt64 = 0
        // EAGAIN is not an error here: there was nothing to drain.
        _ = read(self.descriptor, &count, 8)
    }

    /// Refuses commands from now on and wakes the thread.
    package func close() {
        let wasParked = self.state.withLock { state in
            state.isClosed = true
            return state.unpark()
        }
        if wasParked { self.wake() }
    }

    @usableFromInline
    func wake() {
        var one: UInt64 = 1
        // The counter cannot overflow: it is read whenever it is not zero.
        _ = write(self.descriptor, &one, 8)
    }

    private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}
