internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// Reads the contents of a multipart form one after the other, piece by piece, for a single reader.
final class MultipartReader: Sendable {
    private struct State {
        var contents: ArraySlice<MultipartContent>
        var file: BodyFile?
        /// The number of bytes read from a stream.
        var given: Int64 = 0
    }

    /// The maximum size of a piece of a file.
    private static let pieceLength = 256 * 1024

    /// The total length; nil if the length of any content is unknown.
    let length: Int64?
    /// True if no content is a stream, so that ``read()`` returns everything.
    let isImmediate: Bool
    private let identities: [String: FileIdentity]
    private let state: Mutex<State>

    /// Checks the files, so that an unreadable one is reported before anything is sent.
    init(_ contents: [MultipartContent]) throws(TaskError) {
        var identities: [String: FileIdentity] = [:]
        var length: Int64? = 0
        var isImmediate = true
        for content in contents {
            switch content {
            case .data(let bytes): length = TransferProgress.sum(length, Int64(bytes.count))
            case .file(let path):
                let identity = try Result { () throws(FileError) in try FileIdentity.of(FileLocation(path)) }
                    .mapError { TaskError(reason: $0.failure, underlying: $0.description) }.get()
                identities[path] = identity
                length = TransferProgress.sum(length, identity.size)
            case .stream(let known, _):
                length = TransferProgress.sum(length, known.flatMap { $0 < 0 ? nil : $0 })
                isImmediate = false
            }
        }
        self.identities = identities
        // An overflowed sum is not a length.
        self.length = length == .max ? nil : length
        self.isImmediate = isImmediate
        self.state = Mutex(State(contents: contents[...]))
    }

    /// The next piece; nil after the last one.
    func next() async throws -> [UInt8]? {
        while true {
            switch try self.step() {
            case .data(let bytes): return bytes
            case .stream(let length, let next):
                if let piece = try await self.piece(of: next, length), !piece.isEmpty { return piece }
            case .file, nil: return nil
            }
        }
    }

    /// Like ``next()``, for contents without a stream.
    func read() throws -> [UInt8]? { if case .data(let bytes) = try self.step() { bytes } else { nil } }

    /// The next bytes, or the stream that provides them; nil at the end.
    private func step() throws(FileError) -> MultipartContent? {
        try self.state.withLock { state throws(FileError) in
            while let content = state.contents.first {
                switch content {
                case .data(let bytes):
                    state.contents.removeFirst()
                    if !bytes.isEmpty { return content }
                case .file(let path):
                    let piece = try self.piece(of: path, &state)
                    if !piece.isEmpty { return .data(piece) }
                    state.file = nil
                    state.contents.removeFirst()
                case .stream: return content
                }
            }
            return nil
        }
    }

    private func piece(of path: String, _ state: inout State) throws(FileError) -> [UInt8] {
        if let file = state.file { return try file.read(upTo: MultipartReader.pieceLength) }
        guard let identity = self.identities[path] else { return [] }
        let file = try BodyFile(FileLocation(path), identity)
        state.file = file
        return try file.read(upTo: MultipartReader.pieceLength)
    }

    private func piece(of next: () async throws -> [UInt8]?, _ length: Int64?) async throws -> [UInt8]? {
        let piece = try await next()
        let given = self.state.withLock { state in
            state.given += Int64(piece?.count ?? 0)
            return state.given
        }
        if let length, piece == nil ? given < length : given > length {
            throw TextError("a part's stream gave \(given) bytes instead of \(length)")
        }
        if piece == nil {
            self.state.withLock { state in
                state.given = 0
                state.contents.removeFirst()
            }
        }
        return piece
    }
}
