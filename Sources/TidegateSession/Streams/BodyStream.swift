internal import Synchronization
public import TidegateCore
internal import TidegateTransfer

/// A response's body on arrival, for one reader: `for try await chunk in stream`.
///
/// Every byte arrives once and in order. The stream buffers a limited number of bytes. While the reader does not read,
/// the transfer is paused and its idle clock is stopped. A reader that leaves (a `break`, a cancelled task,
/// ``cancel()``) cancels the transfer. The stream belongs to the first task that is created with it.
public final class BodyStream: AsyncSequence, Hashable, Sendable {
    /// A chunk of the body.
    public typealias Element = [UInt8]
    /// The error if the task failed.
    public typealias Failure = TaskError

    /// The statistics of a stream.
    package struct Statistics: Sendable, Hashable {
        /// Bytes received from the wire.
        package var bytes: Int64 = 0
        /// How often the transfer was paused because the reader was slow.
        package var pauses = 0
    }

    private struct State {
        var chunks = ReusedQueue<[UInt8]>()
        var kept = 0
        var isBlocked = false
        /// The task that it belongs to; nil before a task is created with it.
        var owner: TaskID?
        var isReaderGone = false
        var ending: Result<Void, TaskError>?
        var reader: CheckedContinuation<Result<[UInt8]?, TaskError>, Never>?
        var statistics = Statistics()
        /// Called without holding the lock.
        var callbacks: (hasRoom: @Sendable () -> Void, isGone: @Sendable () -> Void)?

        mutating func pop() -> [UInt8]? {
            guard let chunk = self.chunks.takeFirst() else { return nil }
            self.kept -= chunk.count
            return chunk
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Creates a stream that buffers at most `limit` bytes, or one chunk if that is larger.
    public init(limit: Int = 256 * 1024) { self.limit = Swift.max(1, limit) }

    /// The statistics so far.
    package var statistics: Statistics { self.state.withLock { $0.statistics } }

    /// Ends reading, and cancels the task if it has not ended.
    public func cancel() {
        let (reader, callbacks) = self.state.withLock { state in
            let wasGone = exchange(&state.isReaderGone, with: true)
            state.chunks = ReusedQueue()
            state.kept = 0
            return (state.reader.take(), wasGone || state.ending != nil ? nil : state.callbacks)
        }
        reader?.resume(returning: .success(nil))
        callbacks?.isGone()
    }

    /// Creates the reader of the stream.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The reader of a stream; the stream ends with it.
    public struct Iterator: AsyncIteratorProtocol {
        private final class Reader: Sendable {
            let stream: BodyStream
            init(_ stream: BodyStream) { self.stream = stream }
            deinit { self.stream.cancel() }
        }

        private let reader: Reader

        init(_ stream: BodyStream) { self.reader = Reader(stream) }

        /// The next chunk; nil after the last one, or when the reading task is cancelled.
        ///
        /// - Throws: ``TaskError`` if the task failed or was cancelled, after the received bytes.
        public mutating func next() async throws(TaskError) -> [UInt8]? { try await self.reader.stream.next() }

        /// The next chunk, for callers on an actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(TaskError) -> [UInt8]? {
            try await self.reader.stream.next()
        }
    }

    private func next() async throws(TaskError) -> [UInt8]? {
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { reader in self.wait(reader) }
        } onCancel: {
            self.cancel()
        }
        return try answer.get()
    }

    private func wait(_ reader: CheckedContinuation<Result<[UInt8]?, TaskError>, Never>) {
        let (answer, hasRoom) = self.state.withLock {
            state -> (Result<[UInt8]?, TaskError>?, (@Sendable () -> Void)?) in
            if let chunk = state.pop() {
                guard state.isBlocked, state.kept <= self.limit / 2 else { return (.success(chunk), nil) }
                state.isBlocked = false
                return (.success(chunk), state.callbacks?.hasRoom)
            }
            if let ending = state.ending { return (ending.map { nil }, nil) }
            if state.isReaderGone || state.reader != nil { return (.success(nil), nil) }
            state.reader = reader
            return (nil, nil)
        }
        if let answer { reader.resume(returning: answer) }
        hasRoom?()
    }

    /// A stream is equal only to itself.
    public static func == (left: BodyStream, right: BodyStream) -> Bool { left === right }

    /// Hashes the stream's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    // MARK: - The session's side

    /// Assigns the stream to the first task that is created with it.
    func claim(for task: TaskID) { self.state.withLock { $0.owner = $0.owner ?? task } }

    /// Connects the stream to its task's transfers; false if it belongs to another task.
    func connect(
        to task: TaskID, hasRoom: @escaping @Sendable () -> Void, isGone: @escaping @Sendable () -> Void
    ) -> Bool {
        let (isMine, isReaderGone) = self.state.withLock { state in
            guard state.owner == task else { return (false, false) }
            state.callbacks = (hasRoom, isGone)
            return (true, state.isReaderGone)
        }
        if isReaderGone { isGone() }
        return isMine
    }

    /// Ends the stream if it belongs to this task; the received bytes can still be read.
    func end(_ task: TaskID, _ failure: TaskError?) {
        let reader = self.state.withLock { state -> CheckedContinuation<Result<[UInt8]?, TaskError>, Never>? in
            guard state.owner == task else { return nil }
            state.callbacks = nil
            if state.ending == nil { state.ending = failure.map { .failure($0) } ?? .success(()) }
            return state.reader.take()
        }
        reader?.resume(returning: failure.map { .failure($0) } ?? .success(nil))
    }
}

extension BodyStream: ChunkSink {
    package func hasRoom() -> Bool {
        self.state.withLock { state in
            // Without a reader the task is about to be cancelled, and must not succeed before that.
            if state.isReaderGone { return false }
            if state.kept == 0 || state.kept < self.limit { return true }
            if !state.isBlocked { state.statistics.pauses += 1 }
            state.isBlocked = true
            return false
        }
    }

    package func write(_ chunk: [UInt8]) {
        let reader = self.state.withLock { state -> CheckedContinuation<Result<[UInt8]?, TaskError>, Never>? in
            guard !state.isReaderGone else { return nil }
            state.statistics.bytes += Int64(chunk.count)
            if let reader = state.reader.take() { return reader }
            state.chunks.append(chunk)
            state.kept += chunk.count
            return nil
        }
        reader?.resume(returning: .success(chunk))
    }
}
