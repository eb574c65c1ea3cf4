package import TidegateLoop

/// The thread that waits for the disk, so that no other one does.
package typealias DiskThread = LoopThread<DiskWorker>

extension LoopThread<DiskWorker> {
    /// Starts the thread; the kernel shows 15 bytes of `name`.
    package convenience init(name: String = "tg-disk") throws(LoopError) {
        try self.init(name: name) { _ in DiskWorker() }
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
        self.send { completion(Result(catching: work)) }
    }
}

/// Does one piece of work after the other.
package final class DiskWorker: LoopHandler {
    /// Does a piece of work.
    package func receive(_ work: @Sendable () -> Void) { work() }
}
