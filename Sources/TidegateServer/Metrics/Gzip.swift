internal import CZlib

/// Compresses response bodies (RFC 1952), at zlib's fastest level: an exposition still shrinks to a tenth.
enum Gzip {
    private static let level: Int32 = 1
    /// The first bytes of every gzip stream.
    static let magic: [UInt8] = [0x1F, 0x8B]

    /// The compressed bytes; nil if zlib has no memory, in which case the body is sent uncompressed.
    static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard tg_gzip_init(&stream, self.level) == Z_OK else { return nil }
        defer { _ = deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(bytes.count)))
        var isWhole = false
        let compressed = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib never writes its input; its header lacks the `const`.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
                count = output.count - Int(stream.avail_out)
            }
        }
        return isWhole ? compressed : nil
    }

    /// True if an `Accept-Encoding` header (RFC 9110 12.5.3) names gzip and does not refuse it.
    static func isAccepted(by header: String?) -> Bool {
        for clause in (header ?? "").lowercased().split(separator: ",") {
            let parts = clause.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard parts.first == "gzip" else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            return quality > 0
        }
        return false
    }
}
