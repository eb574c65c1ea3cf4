internal import Synchronization
internal import TidegateCore
package import TidegateTransfer

/// A request body that is produced while it is sent, and can be read once.
///
/// Chunks are requested one at a time. While the next one is being produced, the transfer is paused and its idle clock
/// is stopped. A stream is never sent again after its first byte was read; ``SessionHooks/newBodyStream`` may return
/// another one. The stream belongs to the first task that is created with it.
public final class UploadStream: Hashable, Sendable {
    /// The body's length in bytes; nil if unknown, in which case the body is sent in chunks (RFC 9112 section 7.1).
    public let length: Int64?

    private struct State {
        /// The task that it belongs to; nil before a task is created with it.
        var owner: TaskID?
        var chunk: ArraySlice<UInt8> = []
        var given: Int64 = 0
        var isFetching = false
        var ending: ChunkRead?
        var fetch: Task<Void, Never>?
        var hasBytes: (@Sendable () -> Void)?
    }

    /// The next chunk; nil after the last one.
    package let make: @Sendable () async throws -> [UInt8]?
    /// The stream's source, for descriptions of a request; nil if it was created from bytes alone.
    package let source: (any Sendable)?
    /// Like `make`, for bytes that are available immediately.
    private let immediate: (@Sendable () throws -> [UInt8]?)?
    private let state = Mutex(State())

    /// Creates a stream from the results of `next`: a chunk each time, and nil after the last one.
    ///
    /// `next` is never called while an earlier call is running. An error that it throws fails the task as
    /// `bodyChanged`.
    public convenience init(length: Int64? = nil, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.init(length: length, of: nil, next: next)
    }

    /// Creates a stream that remembers its source.
    ///
    /// With `immediate` the transfer thread reads it, like the file of a body.
    package init(
        length: Int64?, of source: (any Sendable)?, immediate: (@Sendable () throws -> [UInt8]?)? = nil,
        next: @escaping @Sendable () async throws -> [UInt8]?
    ) {
        self.length = length
        self.make = next
        self.source = source
        self.immediate = immediate
    }

    deinit { self.stopFetching() }

    // MARK: - Derived streams

    /// A stream of the same bytes in pieces of at most `bytes`, with `interval` between them.
    ///
    /// The new stream reads this one, which must not be sent itself.
    public func throttled(
        bytes: Int = 16 * 1024, every interval: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> UploadStream {
        let throttle = UploadThrottle()
        return UploadStream(length: self.length, of: self.source) { [make = self.make, limit = max(1, bytes)] in
            try await throttle.next(limit, every: interval, clock, of: make)
        }
    }

    // MARK: - Reading

    /// True until the first byte is read: only then may the stream start another attempt.
    var isUntouched: Bool { self.state.withLock { $0.given == 0 } }

    /// Assigns the stream to the first task that is created with it; false if it belongs to another one.
    @discardableResult
    func claim(for task: TaskID) -> Bool {
        self.state.withLock { state in
            state.owner = state.owner ?? task
            return state.owner == task
        }
    }

    /// Sets the function to call when bytes are available.
    func connect(_ hasBytes: @escaping @Sendable () -> Void) { self.state.withLock { $0.hasBytes = hasBytes } }

    /// Stops the stream if it belongs to this task, which does not need the rest.
    func stop(_ task: TaskID) {
        if self.state.withLock({ $0.owner == task }) { self.stopFetching() }
    }

    private func stopFetching() {
        let fetch = self.state.withLock { state in
            state.hasBytes = nil
            return state.fetch.take()
        }
        fetch?.cancel()
    }

    private func fetch() {
        let make = self.make
        let fetch = Task { [weak self] in
            let chunk: Result<[UInt8]?, any Error>
            do {
                chunk = .success(try await make())
            } catch {
                chunk = .failure(error)
            }
            self?.took(chunk)?()
        }
        self.state.withLock { if $0.isFetching { $0.fetch = fetch } }
    }

    /// Stores the bytes that were read; returns the callback of a waiting transfer.
    private func took(_ chunk: Result<[UInt8]?, any Error>) -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            state.isFetching = false
            state.fetch = nil
            switch chunk {
            case .success(let bytes?): state.chunk = bytes[...]
            case .success(nil): state.ending = .end
            case .failure(let error): state.ending = .failed("the body's stream failed: \(error)")
            }
            return state.hasBytes
        }
    }

    /// A stream is equal only to itself.
    public static func == (left: UploadStream, right: UploadStream) -> Bool { left === right }

    /// Hashes the stream's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension UploadStream: ChunkSource {
    package func read(upTo count: Int) -> ChunkRead {
        while true {
            let (read, isDue) = self.next(upTo: count)
            guard isDue else { return read }
            guard let next = self.immediate else {
                self.fetch()
                return read
            }
            _ = self.took(Result { try next() })
        }
    }

    /// The available bytes, and whether more must be read.
    private func next(upTo count: Int) -> (ChunkRead, isDue: Bool) {
        self.state.withLock { state in
            if !state.chunk.isEmpty {
                let part = Array(state.chunk.prefix(count))
                state.chunk = state.chunk.dropFirst(part.count)
                state.given += Int64(part.count)
                return (.bytes(part), false)
            }
            if let ending = state.ending { return (ending, false) }
            let isDue = !state.isFetching
            state.isFetching = true
            return (.wait, isDue)
        }
    }
}

private actor UploadThrottle {
    private var rest: ArraySlice<UInt8> = []
    private var isFirst = true

    func next(
        _ bytes: Int, every interval: Duration, _ clock: any Clock<Duration>,
        of make: @Sendable () async throws -> [UInt8]?
    ) async throws -> [UInt8]? {
        while self.rest.isEmpty {
            guard let chunk = try await make() else { return nil }
            self.rest = chunk[...]
        }
        if !self.isFirst { try await clock.sleep(for: interval) }
        self.isFirst = false
        let piece = Array(self.rest.prefix(bytes))
        self.rest = self.rest.dropFirst(piece.count)
        return piece
    }
}
