internal import CSnappy

/// Snappy's block format, the only compression of remote write 1.0.
enum Snappy {
    /// The bytes as one block; nil if there are more than a block may hold (4 GiB).
    static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count <= UInt32.max else { return nil }
        var status = SNAPPY_OK
        let capacity = snappy_max_compressed_length(bytes.count)
        let block = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var length = capacity
            status = bytes.withUnsafeBufferPointer { input in
                input.withMemoryRebound(to: CChar.self) { input in
                    buffer.withMemoryRebound(to: CChar.self) { output in
                        snappy_compress(input.baseAddress, input.count, output.baseAddress, &length)
                    }
                }
            }
            count = status == SNAPPY_OK ? length : 0
        }
        return status == SNAPPY_OK ? block : nil
    }
}
