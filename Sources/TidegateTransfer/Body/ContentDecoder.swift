internal import TidegateCore

/// Decodes a body in gzip or deflate (RFC 9110 section 8.4.1), however much comes out of it, a bounded piece at a time.
///
/// libcurl 7.88 takes a truncated stream for a whole one, and drops what follows its end.
final class ContentDecoder {
    /// What can be decoded.
    enum Coding: String {
        case gzip, deflate

        /// The coding of a whole Content-Encoding in small letters; nil for any other, and for several.
        init?(contentEncoding: String) { self.init(rawValue: contentEncoding == "x-gzip" ? "gzip" : contentEncoding) }
    }

    /// Where in the encoded stream the next byte is.
    private enum Position { case start, inside, end }

    private static let pieceSize = 64 * 1024
    /// A chunk of a few kilobytes can become gigabytes: after so many bytes the thread serves other transfers first.
    private static let turnLimit = 1024 * 1024

    private let coding: Coding
    private let inflater: Inflater
    private let output: UnsafeMutableRawBufferPointer
    /// What was decoded and is not written yet.
    private var pending = 0..<0
    /// Bytes at the start of libcurl's chunk that were decoded before a pause: libcurl delivers a paused chunk again.
    private var consumed = 0
    private var position = Position.start
    /// Whether a stream before this one has ended: gzip may be put together of several.
    private var isLaterMember = false
    /// Whether the last piece was full, so that zlib may hold more.
    private var mayHaveMore = false

    /// Nil if there is no memory.
    init?(_ coding: Coding) {
        guard let inflater = Inflater(coding == .gzip ? .gzip : .zlib) else { return nil }
        self.coding = coding
        self.inflater = inflater
        self.output = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit { self.output.deallocate() }

    /// Whether the body may end here: where a stream ends, or before it has begun.
    var isAtEnd: Bool { self.position != .inside }

    /// The message for a truncated stream: `the gzip body ends in the middle`.
    var incompleteText: String { "the \(self.coding.rawValue) body ends in the middle" }

    /// Decodes libcurl's chunk and hands what comes out to `write`, piece by piece; a piece that is not taken whole is
    /// offered again with the same chunk.
    func decode(
        _ chunk: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) -> BodyWriter.Step
    ) -> BodyWriter.Step {
        var written = 0
        while true {
            if !self.pending.isEmpty {
                let step = write(UnsafeRawBufferPointer(rebasing: self.output[self.pending]))
                guard case .written = step else { return step }
                written += self.pending.count
                self.pending = 0..<0
            }
            guard self.mayHaveMore || self.consumed < chunk.count else { break }
            guard written < Self.turnLimit else { return .postponed }
            if let message = self.decodePiece(UnsafeRawBufferPointer(rebasing: chunk[self.consumed...])) {
                return .failed(.protocolError, message)
            }
        }
        self.consumed = 0
        return .written
    }

    // Decodes at most one piece; what is wrong, if something is.
    private func decodePiece(_ input: UnsafeRawBufferPointer) -> String? {
        if let first = input.first, self.position != .inside, !self.begin(first) { return self.trailingText }
        let result = self.inflater.inflate(input, into: self.output)
        self.consumed += result.consumed
        self.pending = 0..<result.produced
        switch result.end {
        case .none: self.mayHaveMore = result.produced == self.output.count
        case .stream:
            self.position = .end
            self.mayHaveMore = false
        case .error(let text):
            // What has no header of a gzip stream is no other member.
            if self.isLaterMember, !self.inflater.hasOutput { return self.trailingText }
            return "the \(self.coding.rawValue) body is damaged (\(text))"
        }
        return nil
    }

    // Prepares for a stream with that first byte; false if there can be none.
    private func begin(_ first: UInt8) -> Bool {
        if self.position == .end {
            guard self.coding == .gzip, first == 0x1F, self.inflater.reset(.gzip) else { return false }
            self.isLaterMember = true
        } else if self.coding == .deflate, first & 0x8F != 0x08 {
            // Some servers send deflate without the zlib header that RFC 9110 asks for; no such stream begins like one.
            guard self.inflater.reset(.raw) else { return false }
        }
        self.position = .inside
        return true
    }

    private var trailingText: String { "the \(self.coding.rawValue) body goes on after its end" }
}
