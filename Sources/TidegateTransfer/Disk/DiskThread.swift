package import TidegateLoop

/// The thread that waits for the disk, so that no other one does.
package final class DiskThread: Sendable {
    private let thread: LoopThread<DiskWorker>

    /// Starts the thread; the kernel shows 15 bytes of `name`.
    package init(name: String = "tg-disk") throws(LoopError) {
        self.thread = try LoopThread(name: name) { _ in DiskWorker() }
    }

    /// Runs `work` on the thread, in the order sent, and then `completion`, there too; it usually sends a command to
    /// the transfer thread.
    ///
    /// False once the thread is stopping, and then neither runs.
    @discardableResult
    package func perform<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileError) -> Value,
        completion: @escaping @Sendable (Result<Value, FileError>) -> Void
    ) -> Bool {
        self.thread.send { completion(Result(catching: work)) }
    }

    /// Does the work sent so far, ends the thread and waits for it.
    package func stop() { self.thread.stop() }

    /// Ends the thread once its work is done, without waiting for that: for a disk that does not answer.
    package func abandon() { self.thread.abandon() }
}

/// Does one piece of work after the other.
private final class DiskWorker: LoopHandler {
    func receive(_ work: @Sendable () -> Void) { work() }
}
