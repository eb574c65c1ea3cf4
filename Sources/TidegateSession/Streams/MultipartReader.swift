internal import TidegateCore
internal import TidegateSerialization
internal import TidegateTransfer

/// Reads a multipart form's contents one after the other, a piece at a time.
actor MultipartReader {
    /// The largest piece of a file.
    private static let pieceLength = 64 * 1024

    /// The length of everything; nil if that of one content is not known.
    nonisolated let length: Int64?

    private var contents: ArraySlice<MultipartContent>
    private let identities: [String: FileIdentity]
    private var file: BodyFile?
    /// What was read of a stream.
    private var given: Int64 = 0

    /// Looks at the files, so that one that cannot be read is known before anything is sent.
    init(_ contents: [MultipartContent]) throws(FileError) {
        var identities: [String: FileIdentity] = [:]
        var length: Int64? = 0
        for content in contents {
            switch content {
            case .data(let bytes): length = Self.sum(length, Int64(bytes.count))
            case .file(let path):
                let identity = try FileIdentity.of(path)
                identities[path] = identity
                length = Self.sum(length, identity.size)
            case .stream(let known, _): length = Self.sum(length, known)
            }
        }
        self.contents = contents[...]
        self.identities = identities
        self.length = length
    }

    // Nil if one is not known, or cannot be a length.
    private static func sum(_ one: Int64?, _ other: Int64?) -> Int64? {
        guard let one, let other, other >= 0 else { return nil }
        let (sum, isTooLarge) = one.addingReportingOverflow(other)
        return isTooLarge ? nil : sum
    }

    /// The next piece; nil after the last one.
    func next() async throws -> [UInt8]? {
        while let content = self.contents.first {
            let piece: [UInt8]?
            switch content {
            case .data(let bytes):
                self.contents.removeFirst()
                piece = bytes
            case .file(let path): piece = try self.piece(of: path)
            case .stream(let length, let next): piece = try await self.piece(of: next, length)
            }
            if let piece, !piece.isEmpty { return piece }
        }
        return nil
    }

    private func piece(of path: String) throws(FileError) -> [UInt8]? {
        guard let identity = self.identities[path] else { return nil }
        if self.file == nil { self.file = try BodyFile(path, identity) }
        guard let file = self.file else { return nil }
        let piece = try file.read(upTo: MultipartReader.pieceLength)
        guard piece.isEmpty else { return piece }
        self.file = nil
        self.contents.removeFirst()
        return nil
    }

    private func piece(of next: () async throws -> [UInt8]?, _ length: Int64?) async throws -> [UInt8]? {
        let piece = try await next()
        self.given += Int64(piece?.count ?? 0)
        if let length, piece == nil ? self.given < length : self.given > length {
            throw TextError("a part's stream gave \(self.given) bytes instead of \(length)")
        }
        if piece == nil {
            self.given = 0
            self.contents.removeFirst()
        }
        return piece
    }
}
