internal import Glibc
internal import Synchronization
internal import TidegateLoop

/// Reads files on its own thread, so that a hanging file system blocks no other thread.
///
/// Supports one caller at a time.
final class FileThread<Value: Sendable>: Sendable {
    /// The result of a piece of work.
    enum Answer {
        case value(Value)
        /// The time limit has passed; the work continues.
        case late
        /// Earlier work is still running.
        case busy
    }

    private struct State {
        var isBusy = false
        var value: Value?
    }

    private let thread: LoopThread<Worker>
    private let state = Mutex(State())
    /// A pipe that receives one byte for each finished piece of work.
    private let done: (read: Int32, write: Int32)

    init() throws(LoopError) {
        self.thread = try LoopThread(name: "tg-files")
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw LoopError(operation: "pipe", code: errno) }
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        self.done = (ends[0], ends[1])
    }

    // Hanging work is not awaited; its last reference closes the descriptors.
    deinit {
        self.thread.abandon()
        close(self.done.read)
        close(self.done.write)
    }

    /// Runs `work` unless earlier work is still running; returns its value if it takes no longer than `limit`.
    func answer(within limit: Duration, to work: @escaping @Sendable () -> Value) -> Answer {
        let wasBusy = self.state.withLock { exchange(&$0.isBusy, with: true) }
        if !wasBusy {
            self.thread.send { [self] in
                let value = work()
                self.state.withLock { $0.value = value }
                _ = write(self.done.write, [0], 1)
            }
        }
        var ready = pollfd(fd: self.done.read, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, wasBusy ? 0 : Int32(limit / .milliseconds(1))) > 0 else { return wasBusy ? .busy : .late }
        var byte: [UInt8] = [0]
        _ = read(self.done.read, &byte, 1)
        let value = self.state.withLock { exchange(&$0, with: State()).value }
        return value.map(Answer.value) ?? .late
    }
}
