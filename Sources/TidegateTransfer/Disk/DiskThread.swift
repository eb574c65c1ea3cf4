package import TidegateLoop

/// The thread that waits for the disk, so that no other thread does.
package typealias DiskThread = LoopThread<Worker>

extension LoopThread<Worker> {
    /// Starts the thread.
    package convenience init() throws(LoopError) { try self.init(name: "tg-disk") }

    /// Runs `work` on the thread, in the order sent, and then `completion` on the same thread, which usually sends a
    /// command to the transfer thread.
    ///
    /// False if the thread is stopping, in which case neither runs.
    @discardableResult
    package func perform<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileError) -> Value,
        completion: @escaping @Sendable (Result<Value, FileError>) -> Void
    ) -> Bool {
        self.send { completion(Result(catching: work)) }
    }
}
