internal import CZlib

/// zlib's encoder of one gzip stream (RFC 1952), at zlib's default level.
package struct GzipEncoder: ~Copyable {
    // zlib's state points back to it, so that it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// Nil if there is no memory.
    package init?() {
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
            self.stream.pointee.avail_in = UInt32(input.count)
            var isFull = true
            while isFull {
                encoded += [UInt8](unsafeUninitializedCapacity: 64 * 1024) { output, count in
                    self.stream.pointee.next_out = output.baseAddress
                    self.stream.pointee.avail_out = UInt32(output.count)
                    _ = deflate(self.stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    count = output.count - Int(self.stream.pointee.avail_out)
                    isFull = self.stream.pointee.avail_out == 0
                }
            }
        }
        return encoded
    }
}
