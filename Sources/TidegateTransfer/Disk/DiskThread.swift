package import TidegateLoop

/// The thread that waits for the disk, so that no other one does.
package typealias DiskThread = LoopThread<Worker>

extension LoopThread<Worker> {
    /// Starts the thread.
    package convenience init() throws(LoopError) { try self.init(name: "tg-disk") }

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
