internal import CZlib

/// zlib's encoder of one gzip stream (RFC 1952), at zlib's default level.
package struct GzipEncoder: ~Copyable {
    // zlib's state points back to it, so that it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let pieceLimit: Int

    /// Nil if there is no memory.
    ///
    /// zlib counts in 32 bits: it is given at most `pieceLimit` bytes at a time.
    package init?(pieceLimit: Int = 1 << 30) {
        self.pieceLimit = min(max(1, pieceLimit), Int(UInt32.max))
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard tg_gzip_init(stream, Z_DEFAULT_COMPRESSION) == Z_OK else {
            stream.deallocate()
            return nil
        }
        self.stream = stream
    }

    deinit {
        _ = deflateEnd(self.stream)
        self.stream.deallocate()
    }

    /// What is ready after these bytes; nothing, while the encoder collects.
    ///
    /// The last call gives the rest.
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

    // Takes all of the input that the stream has.
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
