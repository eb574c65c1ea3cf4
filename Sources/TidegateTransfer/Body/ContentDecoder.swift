internal import TidegateCore

/// Decodes a gzip or deflate body (RFC 9110 section 8.4.1) in bounded pieces, however large the result is.
///
/// libcurl 7.88 accepts a truncated stream as complete and drops any data after its end.
final class ContentDecoder {
    /// The supported codings.
    enum Coding: String {
        case gzip, deflate

        /// The coding of a lower-case Content-Encoding value; nil for any other coding or a list.
        init?(contentEncoding: String) { self.init(rawValue: contentEncoding == "x-gzip" ? "gzip" : contentEncoding) }
    }

    /// The position of the next byte in the encoded stream.
    private enum Position { case start, inside, end }

    private static let pieceSize = 64 * 1024
    /// A chunk of a few kilobytes can become gigabytes: after this many bytes the thread serves other transfers first.
    private static let turnLimit = 1024 * 1024

    private let coding: Coding
    private let isBare: Bool
    private let inflater: Inflater
    private let output: UnsafeMutableRawBufferPointer
    /// Decoded bytes that are not written yet.
    private var pending = 0..<0
    /// Bytes at the start of libcurl's chunk that were decoded before a pause: libcurl delivers a paused chunk again.
    private var consumed = 0
    private var position = Position.start
    /// Whether an earlier stream has ended: a gzip body may consist of several.
    private var isLaterMember = false
    /// Whether the last piece was full, so that zlib may hold more.
    private var mayHaveMore = false

    /// With `isBare` a deflate body must not have the zlib header that RFC 9110 requires; nil if out of memory.
    init?(_ coding: Coding, isBare: Bool = false) {
        guard let inflater = Inflater(coding == .gzip ? .gzip : .zlib) else { return nil }
        self.coding = coding
        self.isBare = isBare
        self.inflater = inflater
        self.output = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit { self.output.deallocate() }

    /// Whether the body may end here: at the end of a stream, or before its first byte.
    var isAtEnd: Bool { self.position != .inside }

    /// The message for a truncated stream: `the gzip body ends in the middle`.
    var incompleteText: String { "the \(self.coding.rawValue) body ends in the middle" }

    /// Decodes libcurl's chunk and passes the result to `write` in pieces; a piece that is not accepted completely is
    /// passed again with the same chunk.
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

    // Decodes at most one piece; returns the error, if any.
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
            // Data without a gzip header is not another member.
            if self.isLaterMember, !self.inflater.hasOutput { return self.trailingText }
            return "the \(self.coding.rawValue) body is damaged (\(text))"
        }
        return nil
    }

    // Prepares for a stream with this first byte; false if no stream can start with it.
    private func begin(_ first: UInt8) -> Bool {
        if self.position == .end {
            guard self.coding == .gzip, first == 0x1F, self.inflater.reset(.gzip) else { return false }
            self.isLaterMember = true
        } else if self.coding == .deflate, self.isBare || first & 0x8F != 0x08 {
            // Some servers send deflate without the header; no such stream starts like one with it.
            guard self.inflater.reset(.raw) else { return false }
        }
        self.position = .inside
        return true
    }

    private var trailingText: String { "the \(self.coding.rawValue) body continues after its end" }
}
