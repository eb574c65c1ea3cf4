internal import Synchronization
internal import TidegateCore
internal import TidegateSerialization
package import TidegateTransfer

/// A request's body that is made while it is sent, and can be read once.
///
/// Chunks are requested one at a time; while the next one is being made, the transfer is paused and its idle clock
/// stands still. A stream of which a byte was read is never sent again: ``SessionHooks/newBodyStream`` may give another
/// one. The stream belongs to one task, the first that is made with it.
public final class UploadStream: Sendable {
    /// The body's length in bytes; nil if it is not known, and then it is sent in chunks (RFC 9112 section 7.1).
    public let length: Int64?

    private struct State {
        /// The task it belongs to; nil before the first one is made with it.
        var owner: TaskID?
        var chunk: ArraySlice<UInt8> = []
        var given: Int64 = 0
        var isFetching = false
        var ending: ChunkRead?
        var fetch: Task<Void, Never>?
        var hasBytes: (@Sendable () -> Void)?
    }

    let make: @Sendable () async throws -> [UInt8]?
    /// The form that the stream sends; nil for any other content.
    let form: MultipartForm?
    /// As `make`, for bytes that nobody has to wait for.
    private let immediate: (@Sendable () throws -> [UInt8]?)?
    private let state = Mutex(State())

    /// A stream of what `next` gives: a chunk each time, and nil after the last one.
    ///
    /// `next` is never called while an earlier call is under way. What it throws fails the task as `bodyChanged`.
    public init(length: Int64? = nil, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.length = length
        self.make = next
        self.form = nil
        self.immediate = nil
    }

    /// A form's stream; `immediate` is read on the thread of the transfers, as the file of a body is.
    init(
        length: Int64?, form: MultipartForm, immediate: (@Sendable () throws -> [UInt8]?)? = nil,
        next: @escaping @Sendable () async throws -> [UInt8]?
    ) {
        self.length = length
        self.make = next
        self.form = form
        self.immediate = immediate
    }

    deinit { self.stopFetching() }

    /// True until the first byte was sent: only then the stream may begin another attempt.
    var isUntouched: Bool { self.state.withLock { $0.given == 0 } }

    /// Gives the stream to the first task that is made with it; false if it belongs to another one.
    @discardableResult
    func claim(for task: TaskID) -> Bool {
        self.state.withLock { state in
            state.owner = state.owner ?? task
            return state.owner == task
        }
    }

    /// Sets what is called when there are bytes.
    func connect(_ hasBytes: @escaping @Sendable () -> Void) { self.state.withLock { $0.hasBytes = hasBytes } }

    /// A task does not need the rest; if the stream is that task's, it stops.
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
            let read: ChunkRead
            do {
                read = try await make().map { .bytes($0) } ?? .end
            } catch {
                read = Self.failed(error)
            }
            self?.took(read)?()
        }
        self.state.withLock { if $0.isFetching { $0.fetch = fetch } }
    }

    private func readNow(_ next: () throws -> [UInt8]?) -> ChunkRead {
        do {
            return try next().map { .bytes($0) } ?? .end
        } catch {
            return Self.failed(error)
        }
    }

    private static func failed(_ error: any Error) -> ChunkRead { .failed("the body's stream failed: \(error)") }

    /// Keeps what was read; gives what the transfer has to be told by, if it waits.
    private func took(_ read: ChunkRead) -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            state.isFetching = false
            state.fetch = nil
            switch read {
            case .bytes(let bytes): state.chunk = bytes[...]
            case .wait: break
            case .end, .failed: state.ending = read
            }
            return state.hasBytes
        }
    }
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
            _ = self.took(self.readNow(next))
        }
    }

    /// What is here, and whether more has to be read.
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

extension UploadStream: Hashable {
    /// A stream is only equal to itself.
    public static func == (left: UploadStream, right: UploadStream) -> Bool { left === right }

    /// Hashes the stream's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
