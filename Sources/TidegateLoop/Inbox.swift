internal import CLinux
internal import Glibc
internal import Synchronization

/// Commands on their way to a thread: any thread puts them in, one takes them out, in order.
///
/// The wake descriptor is written only when the box was empty, so that a burst costs one system call.
package final class Inbox<Command: Sendable>: Sendable {
    private struct State {
        var commands: [Command] = []
        var isClosed = false
    }

    /// Readable while commands are waiting (eventfd(2)).
    let descriptor: Int32
    private let state = Mutex(State())

    package init() throws(LoopError) {
        let descriptor = tg_eventfd()
        guard descriptor >= 0 else { throw LoopError(operation: "eventfd", code: errno) }
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }

    /// Puts a command in; false once the box is closed, and then the command is not carried out.
    package func put(_ command: Command) -> Bool {
        let (isOpen, wasEmpty) = self.state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.commands.append(command)
            return (true, state.commands.count == 1)
        }
        if wasEmpty { self.wake() }
        return isOpen
    }

    /// Takes everything out; `isClosed` says that nothing will follow.
    package func takeAll() -> (commands: [Command], isClosed: Bool) {
        var count: UInt64 = 0
        // EAGAIN is no error here: the descriptor was drained by an earlier call.
        _ = read(self.descriptor, &count, 8)
        return self.state.withLock { state in
            let commands = state.commands
            state.commands = []
            return (commands, state.isClosed)
        }
    }

    /// Refuses commands from now on and wakes the thread.
    package func close() {
        self.state.withLock { $0.isClosed = true }
        self.wake()
    }

    private func wake() {
        var one: UInt64 = 1
        // The counter cannot overflow: it is read whenever it is not zero.
        _ = write(self.descriptor, &one, 8)
    }

    private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}
