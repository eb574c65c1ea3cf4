internal import CZlib

/// zlib's decoder of one stream at a time.
struct Inflater: ~Copyable {
    /// The format around the compressed data.
    enum Wrapper: Int32 {
        /// RFC 1950.
        case zlib = 15
        /// RFC 1952.
        case gzip = 31
        /// No wrapper (RFC 1951).
        case raw = -15
    }

    /// How a call ended, unless it needs more input or more room.
    enum End {
        case stream
        case error(String)
    }

    private let stream: UnsafeMutablePointer<z_stream>

    /// Nil if out of memory.
    init?(_ wrapper: Wrapper) {
        guard let stream = makeStream({ tg_inflate_init($0, wrapper.rawValue) }) else { return nil }
        self.stream = stream
    }

    deinit {
        _ = inflateEnd(self.stream)
        self.stream.deallocate()
    }

    /// Whether the stream has produced a byte.
    var hasOutput: Bool { self.stream.pointee.total_out > 0 }

    /// Prepares for the next stream.
    func reset(_ wrapper: Wrapper) -> Bool { inflateReset2(self.stream, wrapper.rawValue) == Z_OK }

    /// Decodes until the input is used up, the output is full or the stream ends.
    func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> (consumed: Int, produced: Int, end: End?) {
        // zlib never writes its input; its header lacks the `const`.
        let bytes = UnsafeMutableRawPointer(mutating: input.baseAddress)
        self.stream.pointee.next_in = bytes?.assumingMemoryBound(to: UInt8.self)
        self.stream.pointee.avail_in = UInt32(input.count)
        self.stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        self.stream.pointee.avail_out = UInt32(output.count)
        let code = CZlib.inflate(self.stream, Z_NO_FLUSH)
        let left = self.stream.pointee
        return (input.count - Int(left.avail_in), output.count - Int(left.avail_out), self.end(code))
    }

    private func end(_ code: Int32) -> End? {
        switch code {
        // Z_BUF_ERROR: no progress without more input.
        case Z_OK, Z_BUF_ERROR: nil
        case Z_STREAM_END: .stream
        default: .error(self.stream.pointee.msg.map { String(cString: $0) } ?? "zlib error \(code)")
        }
    }
}

/// zlib's encoder of one gzip stream (RFC 1952), at zlib's default level.
package struct GzipEncoder: ~Copyable {
    private let stream: UnsafeMutablePointer<z_stream>
    private let pieceLimit: Int

    /// Nil if out of memory.
    ///
    /// zlib counts in 32 bits, so it receives at most `pieceLimit` bytes at a time.
    package init?(pieceLimit: Int = 1 << 30) {
        self.pieceLimit = min(max(1, pieceLimit), Int(UInt32.max))
        guard let stream = makeStream({ tg_gzip_init($0, Z_DEFAULT_COMPRESSION) }) else { return nil }
        self.stream = stream
    }

    deinit {
        _ = deflateEnd(self.stream)
        self.stream.deallocate()
    }

    /// Returns the output that is ready after these bytes; empty while the encoder collects.
    ///
    /// The last call returns the rest.
    package func encode(_ bytes: [UInt8], isLast: Bool) -> [UInt8] {
        var encoded: [UInt8] = []
        bytes.withUnsafeBufferPointer { input in
            // zlib never writes its input; its header lacks the `const`.
            self.stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            var rest = input.count
            repeat {
                let count = min(rest, self.pieceLimit)
                rest -= count
                self.stream.pointee.avail_in = UInt32(count)
                self.deflatePiece(isLast && rest == 0 ? Z_FINISH : Z_NO_FLUSH, into: &encoded)
            } while rest > 0
        }
        return encoded
    }

    // Consumes all of the stream's input.
    private func deflatePiece(_ flush: Int32, into encoded: inout [UInt8]) {
        var isFull = true
        while isFull {
            encoded += [UInt8](unsafeUninitializedCapacity: 64 * 1024) { output, count in
                self.stream.pointee.next_out = output.baseAddress
                self.stream.pointee.avail_out = UInt32(output.count)
                _ = deflate(self.stream, flush)
                count = output.count - Int(self.stream.pointee.avail_out)
                isFull = self.stream.pointee.avail_out == 0
            }
        }
    }
}

// The state of a zlib stream points back to it, so it must not move; nil if out of memory.
private func makeStream(
    _ initialize: (UnsafeMutablePointer<z_stream>) -> Int32
) -> UnsafeMutablePointer<z_stream>? {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    if initialize(stream) == Z_OK { return stream }
    stream.deallocate()
    return nil
}
