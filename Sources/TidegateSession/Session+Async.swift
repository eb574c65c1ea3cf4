public import FoundationEssentials
public import TidegateCore

/// A request as apps have it: a URL's text, a `URL`, or a ``TaskRequest`` with everything that it can say.
public protocol TaskRequestConvertible: Sendable {
    /// The request.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if it cannot be sent.
    func taskRequest() throws(TaskError) -> TaskRequest
}

extension TaskRequest: TaskRequestConvertible {
    /// The request itself.
    public func taskRequest() throws(TaskError) -> TaskRequest { self }
}

extension String: TaskRequestConvertible {
    /// A GET of this URL.
    public func taskRequest() throws(TaskError) -> TaskRequest { try TaskRequest(url: self) }
}

extension URL: TaskRequestConvertible {
    /// A GET of this URL.
    public func taskRequest() throws(TaskError) -> TaskRequest { try TaskRequest(url: self.absoluteString) }
}

/// Tasks in one call: each returns when the task is over, and cancels it if the calling Swift task is cancelled.
extension Session {
    /// Gets a response and its body, which is kept in memory: 16 MiB at most unless the request's destination says
    /// otherwise.
    ///
    /// - Throws: ``TaskError``; for a refused response (a status other than 2xx) with its status and the first
    ///   64 KiB of its body.
    public func data(
        for request: some TaskRequestConvertible, options: TaskOptions? = nil
    ) async throws(TaskError) -> (Data, TaskResponse) {
        let task = self.makeTask(try request.taskRequest(), options: options)
        let response = try await task.run()
        return (Data(task.body()), response)
    }

    /// Downloads a body into a file, which appears at `path` only when it is whole.
    ///
    /// `progress` is called on the calling Swift task, the last time before the call returns.
    /// - Throws: ``TaskError``, as ``data(for:options:)`` does.
    @discardableResult
    public func download(
        _ request: some TaskRequestConvertible, to path: String, options: TaskOptions? = nil,
        progress: ((TransferProgress) -> Void)? = nil
    ) async throws(TaskError) -> TaskResponse {
        var request = try request.taskRequest()
        if request.destination.path != path { request.destination = .file(path) }
        let task = self.makeTask(request, options: options)
        guard let progress else { return try await task.run() }
        // Subscribed before the task starts, so that the first update is not missed.
        let updates = task.updates()
        task.resume()
        await withTaskCancellationHandler {
            for await update in updates { progress(update.progress) }
        } onCancel: {
            task.cancel()
        }
        return try await task.run()
    }
}

extension TransferTask {
    /// Resumes the task, waits for its end, and gives the response; cancels it if the calling Swift task is cancelled.
    ///
    /// - Throws: ``TaskError`` if the task failed or was cancelled.
    public func run() async throws(TaskError) -> TaskResponse {
        let result = await withTaskCancellationHandler {
            self.resume()
            return await self.result()
        } onCancel: {
            self.cancel()
        }
        if let failure = result.failure { throw self.error(failure, result) }
        guard let response = self.response else {
            throw TaskError(reason: .internal, underlying: "\(result.url): the task ended without a response")
        }
        return response
    }

    private func error(_ failure: TaskFailure, _ result: TaskResult) -> TaskError {
        var error = TaskError(
            reason: failure, attempts: result.attempts, attribution: result.attribution,
            underlying: result.explanation ?? "the task failed")
        error.status = result.status
        error.body = self.body()
        return error
    }
}
