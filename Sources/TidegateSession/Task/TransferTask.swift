public import TidegateCore

/// The handle of a task.
///
/// Every call returns immediately; its effect shows in events, ``info`` and results. A task continues to its end even
/// if no handle is kept.
public final class TransferTask: Sendable {
    /// The task's id.
    public let id: TaskID
    /// The request.
    public let request: TaskRequest

    /// The task's number in its session, in the order of creation.
    let number: UInt64
    let shared: PublishedTaskState
    /// The journal's entry; nil for a task that ends with its process.
    let journaled: Indirect<JournaledTask>?
    /// Its own hooks, observers and completion handler; nil for most.
    let handlers: TaskHandlers?
    private let controller: any TaskController

    init(
        id: TaskID, number: UInt64, request: TaskRequest, shared: PublishedTaskState,
        controller: any TaskController, journaled: Indirect<JournaledTask>? = nil, handlers: TaskHandlers? = nil
    ) {
        self.id = id
        self.number = number
        self.request = request
        self.shared = shared
        self.controller = controller
        self.journaled = journaled
        self.handlers = handlers
        if case .stream(let stream) = request.destination { stream.claim(for: id) }
        if case .stream(let stream) = request.body { stream.claim(for: id) }
    }

    /// The trace that the task is part of; nil if none exists.
    var trace: TraceID? { self.request.traceID }

    /// Removes one suspension; a task starts with one.
    ///
    /// Extra calls have no effect.
    public func resume() { self.controller.send(.resume, to: self) }

    /// Resumes the task and waits for its end; cancelling the Swift task cancels it.
    ///
    /// `progress` is called on the calling task.
    package func run(showing progress: ((TransferProgress) -> Void)? = nil) async -> TaskResult {
        // Read before it starts, so that the first update is not missed.
        let updates = progress.map { (self.progress, $0) }
        return await withTaskCancellationHandler {
            self.resume()
            if let (updates, progress) = updates { for await update in updates { progress(update) } }
            return await self.result()
        } onCancel: {
            self.cancel()
        }
    }

    /// Suspends the task once more; it continues after as many calls of ``resume()``.
    public func suspend() { self.controller.send(.suspend, to: self) }

    /// Ends the task; does nothing if it has already ended.
    public func cancel() { self.controller.send(.cancel(keepsPartial: false), to: self) }

    /// Ends the task like ``cancel()``, and keeps the received part of a download for ``resumeData``.
    package func cancelKeepingPart() { self.controller.send(.cancel(keepsPartial: true), to: self) }

    /// Ends a download and keeps the received part for another task; returns when the part is safe.
    ///
    /// Nil if the task is not a download, has received nothing yet, has already ended, or its server supports no
    /// continuation.
    public func cancelProducingResumeData() async -> ResumeData? {
        self.cancelKeepingPart()
        _ = await self.result()
        return self.resumeData
    }

    /// The data to continue an unfinished download after its end; nil if nothing was kept.
    ///
    /// It is available after ``cancelProducingResumeData()``, and after the failure of a download to a ``Destination``
    /// that continues.
    public var resumeData: ResumeData? { self.shared.resumeData }

    /// The head of the latest response of all attempts; nil before the first one.
    public var response: TaskResponse? { self.shared.response(to: self.request) }

    /// The task's current entry for lists.
    public var info: TaskInfo { self.info(showing: self.shared.snapshot) }

    /// Whether the user gave it a name or a key.
    package var isNamed: Bool { self.request.options.name != nil || self.journaled?.value.description.key != nil }

    /// The task's current state.
    public var state: TaskState { self.shared.snapshot.state }

    /// The current progress of the task's bodies.
    public var currentProgress: TransferProgress { self.shared.snapshot.progress }

    /// The progress of the task's bodies, for one reader: first the current value, then changes, at most ten times a
    /// second.
    ///
    /// Only the newest value is kept for a slow reader. The sequence ends with the task, after its last value, or when
    /// the reading Swift task is cancelled.
    public var progress: AsyncMapSequence<TaskUpdates, TransferProgress> { self.updates().map(\.progress) }

    /// Waits for the end of the task and returns its result.
    ///
    /// Any number of readers may wait; cancelling a reader does not end the task.
    public func result() async -> TaskResult { await self.shared.result() }

    /// The response's body, once the task has ended: the whole body if its destination is `.memory`, and the first
    /// 64 KiB of the body of a refused response (a status other than 2xx), regardless of the destination; empty
    /// otherwise.
    public func body() -> [UInt8] { self.shared.body }

    /// The attempts of the task so far, including those after redirects: the newest 32.
    ///
    /// Empty unless the session's ``SessionConfiguration/recordsExchanges`` is set.
    public var exchanges: [Exchange] { self.shared.exchanges?.exchanges ?? [] }

    /// The task's state and progress, for one reader: first the current entry, then changes; only the newest one is
    /// kept.
    public func updates() -> TaskUpdates { TaskUpdates(of: self) }

    /// The task's events from now on, for one reader: the newest `capacity` are kept, and displaced ones are counted.
    ///
    /// The sequence ends with the task: `completed` is the last event.
    public func events(bufferingNewest capacity: Int = 64) -> Subscription {
        let id = self.id
        let subscription = self.controller.events.subscribe(bufferingNewest: capacity) { event in
            if case .task(let task) = event.payload { task.id == id } else { false }
        }
        self.shared.endWithTask(subscription)
        return subscription
    }

    /// The bytes of a download's file while it is written, for one reader: each byte once and in order, from the first.
    ///
    /// Bytes that an earlier attempt or an earlier process received come first, once the server has confirmed them.
    /// The file is the buffer: a slow reader does not pause the download, and a chunk has at most 64 KiB. New bytes are
    /// noticed at most ten times a second. A reader that leaves does not end the download. A later call replaces the
    /// reader of an earlier one.
    ///
    /// The stream ends when the file is complete. A digest (``RequestOptions/sha256``) is checked only then. After the
    /// bytes that were received it throws the task's ``TaskError``. Its reason is `rangeMismatch` if the download began
    /// again after bytes had been read, and `invalidRequest` if the body did not go into a file.
    public func fileChunks() -> AsyncThrowingStream<[UInt8], any Error> {
        let reader = DownloadReader(of: self)
        self.controller.send(.follow(reader), to: self)
        return AsyncThrowingStream { try await reader.next() }
    }

    /// The progress of the response's body, with pause and cancel.
    public var download: TaskProgress { TaskProgress(direction: .download, task: self) }

    /// The progress of the request's body, with pause and cancel.
    public var upload: TaskProgress { TaskProgress(direction: .upload, task: self) }

    func info(showing snapshot: TaskSnapshot) -> TaskInfo {
        let result = self.shared.result
        let failed = result?.outcome == .failure ? result : nil
        return TaskInfo(
            id: self.id, name: self.request.options.name, key: self.journaled?.value.description.key,
            kind: self.request.kind,
            method: self.request.method, url: self.shared.url, state: snapshot.state, progress: snapshot.progress,
            created: self.shared.created,
            started: snapshot.started, file: snapshot.file ?? self.request.destination.path, failure: failed?.failure,
            explanation: failed?.explanation, party: failed?.attribution?.party, stall: snapshot.stall)
    }

    /// Ends the task: resumes all waiting callers.
    func finish(_ result: TaskResult, resumeData: Indirect<ResumeData>? = nil) {
        self.shared.finish(result, resumeData: resumeData)
        if case .stream(let stream) = self.request.body { stream.stop(self.id) }
        guard case .stream(let stream) = self.request.destination else { return }
        stream.end(self.id, result.error)
    }
}

extension TaskResult {
    /// The result for events; callers that wait for the task receive an unchanged URL.
    consuming func redacted(for task: TransferTask) -> TaskResult {
        self.url = task.shared.url
        return self
    }
}
