public import FoundationEssentials
public import TidegateCore
public import TidegateSession

// One call per request, for async code.
extension Session {
    /// The maximum size of a body returned in memory: 16 MiB; a longer one fails as `tooLarge`.
    ///
    /// Use a stream or a download for larger bodies.
    public static let bodyLimit = 16 << 20

    /// Makes a request and returns the response body, at most ``bodyLimit`` bytes.
    ///
    /// Cancelling the Swift task cancels the request.
    /// - Throws: ``TaskError`` if no response with a 2xx status arrives; ``TaskError/attribution`` has the responsible
    /// party.
    public func data(for request: TaskRequest) async throws(TaskError) -> (Data, TaskResponse) {
        var request = request
        request.destination = .memory(limit: Session.bodyLimit)
        let task = self.makeTask(request)
        try await task.success()
        guard let response = task.response else {
            throw TaskError(reason: .internal, underlying: "the task succeeded without a response")
        }
        return (Data(task.body()), response)
    }

    /// Like ``data(for:)-(TaskRequest)``, for a GET of a URL.
    public func data(for url: String) async throws(TaskError) -> (Data, TaskResponse) {
        try await self.data(for: TaskRequest(url: url))
    }

    /// Like ``data(for:)-(TaskRequest)``, for a GET of a URL.
    public func data(for url: URL) async throws(TaskError) -> (Data, TaskResponse) {
        try await self.data(for: url.absoluteString)
    }

    /// Downloads into a file, which appears only when it is complete.
    ///
    /// An interrupted download continues after the path is back. After a failure, the next call for the same file
    /// continues it. `progress` is called on the calling task. Cancelling the Swift task cancels the download.
    /// - Throws: ``TaskError``.
    @discardableResult
    public func download(
        _ request: TaskRequest, to file: String, progress: ((TransferProgress) -> Void)? = nil
    ) async throws(TaskError) -> TaskResult {
        var request = request
        request.destination = .file(file, continues: true)
        return try await self.makeTask(request).success(showing: progress)
    }

    /// Like ``download(_:to:progress:)-(TaskRequest,_,_)``, for a GET of a URL.
    @discardableResult
    public func download(
        _ url: String, to file: String, progress: ((TransferProgress) -> Void)? = nil
    ) async throws(TaskError) -> TaskResult {
        try await self.download(TaskRequest(url: url), to: file, progress: progress)
    }

    /// Like ``download(_:to:progress:)-(TaskRequest,_,_)``, for a GET of a URL into a file URL.
    @discardableResult
    public func download(
        _ url: URL, to file: URL, progress: ((TransferProgress) -> Void)? = nil
    ) async throws(TaskError) -> TaskResult {
        try await self.download(url.absoluteString, to: file.path, progress: progress)
    }

    /// Sends bytes, with POST unless the request has another method, and returns the response body.
    public func upload(
        _ data: Data, to url: String, method: String = "POST"
    ) async throws(TaskError) -> (Data, TaskResponse) {
        try await self.data(for: TaskRequest(url: url, method: method, body: .data([UInt8](data))))
    }

    /// Like ``upload(_:to:method:)-(Data,String,_)``.
    public func upload(
        _ data: Data, to url: URL, method: String = "POST"
    ) async throws(TaskError) -> (Data, TaskResponse) {
        try await self.upload(data, to: url.absoluteString, method: method)
    }

    /// Sends a file, with PUT unless the request has another method, and returns the response body.
    public func upload(
        file: String, to url: String, method: String = "PUT"
    ) async throws(TaskError) -> (Data, TaskResponse) {
        try await self.data(for: TaskRequest(url: url, method: method, body: .file(file)))
    }

    /// Like ``upload(file:to:method:)-(String,String,_)``, for file URLs.
    public func upload(
        file: URL, to url: URL, method: String = "PUT"
    ) async throws(TaskError) -> (Data, TaskResponse) {
        try await self.upload(file: file.path, to: url.absoluteString, method: method)
    }
}

extension TransferTask {
    /// Starts the task and waits until it ends; cancelling the Swift task cancels it.
    ///
    /// - Throws: ``TaskError`` if it did not succeed.
    @discardableResult
    public func success() async throws(TaskError) -> TaskResult { try await self.success(showing: nil) }

    fileprivate func success(showing progress: ((TransferProgress) -> Void)?) async throws(TaskError) -> TaskResult {
        let result = await self.run(showing: progress)
        if var error = result.error {
            error.status = result.status
            error.body = self.body()
            throw error
        }
        return result
    }
}
