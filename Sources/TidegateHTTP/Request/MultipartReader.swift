internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// Reads a multipart form's contents one after the other, a piece at a time; it has one reader.
final class MultipartReader: Sendable {
    private struct State {
        var contents: ArraySlice<MultipartContent>
        var file: BodyFile?
        /// What was read of a stream.
        var given: Int64 = 0
    }

    /// The largest piece of a file.
    private static let pieceLength = 64 * 1024

    /// The length of everything; nil if that of one content is not known.
    let length: Int64?
    /// Whether nothing is a stream, so that ``read()`` gives everything.
    let isImmediate: Bool
    private let identities: [String: FileIdentity]
    private let state: Mutex<State>

    /// Looks at the files, so that one that cannot be read is known before anything is sent.
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
        // A sum that is too large is no length.
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

    /// As ``next()`` for contents without a stream.
    func read() throws -> [UInt8]? { if case .data(let bytes) = try self.step() { bytes } else { nil } }

    /// The next bytes, of a file, too, or the stream that gives them; nil at the end.
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
