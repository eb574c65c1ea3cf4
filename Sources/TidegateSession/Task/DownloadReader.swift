internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// Reads the file of a download while the session writes it.
final class DownloadReader: Sendable {
    private let task: TransferTask
    private let updates: TaskUpdates
    private let position = Mutex<(file: DownloadFile?, offset: Int64, cuts: Int)>((nil, 0, 0))

    init(of task: TransferTask) { (self.task, self.updates) = (task, task.updates()) }

    /// Takes the file that the session has opened.
    ///
    /// Nothing is read before, so the session does not wait for a read.
    func take(_ file: DownloadFile) { self.position.withLock { $0.file = file } }

    /// The next chunk; nil after the last one.
    func next() async throws(TaskError) -> [UInt8]? {
        var updates = self.updates.makeAsyncIterator()
        while true {
            // Taken before the read: a task that has ended writes nothing more.
            let result = self.task.shared.result
            let chunk = try self.read(result)
            if !chunk.isEmpty { return chunk }
            if result?.file != nil { return nil }
            if let result { throw result.error ?? TaskRequest.invalid("the task's body did not go into a file") }
            if await updates.next() == nil, self.task.shared.result == nil { return nil }
        }
    }

    private func read(_ result: TaskResult?) throws(TaskError) -> [UInt8] {
        let chunk = try self.position.withLock { position in
            Result { () throws(FileError) -> [UInt8]? in
                // The session may have closed its file, or kept the one that was there.
                if position.offset == 0, let path = result?.file {
                    let directories = self.task.request.options.confinedTo
                    position.file = try .finished(DownloadPaths(destination: path, below: directories))
                }
                guard let file = position.file else { return [] }
                return try file.follow(from: &position.offset, since: &position.cuts, isWhole: result?.file != nil)
            }
        }.mapError { TaskError(reason: $0.failure, underlying: $0.description) }.get()
        if let chunk { return chunk }
        throw TaskError(reason: .rangeMismatch, underlying: "the download began again after bytes had been read")
    }
}
