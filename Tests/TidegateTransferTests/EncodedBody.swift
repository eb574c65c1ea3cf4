internal import CZlib

/// Bodies in the encodings that a server may use.
enum EncodedBody: String, CaseIterable, Sendable {
    case gzip, twoMembers, zlib, rawDeflate

    /// The Content-Encoding.
    var coding: String {
        switch self {
        case .gzip, .twoMembers: "gzip"
        case .zlib, .rawDeflate: "deflate"
        }
    }

    func encode(_ bytes: [UInt8]) -> [UInt8] {
        let whole = EncodedBody.compress(bytes)
        // A header of ten bytes, and a checksum and a length of four bytes each (RFC 1952).
        let raw = Array(whole[10..<whole.count - 8])
        switch self {
        case .gzip: return whole
        case .twoMembers:
            let half = bytes.count / 2
            return EncodedBody.compress(Array(bytes[..<half])) + EncodedBody.compress(Array(bytes[half...]))
        case .zlib:
            let sum = adler32(1, bytes, UInt32(bytes.count))
            return [0x78, 0x01] + raw + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
        case .rawDeflate: return raw
        }
    }

    private static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var (input, stream) = (bytes, z_stream())
        guard tg_gzip_init(&stream, 6) == Z_OK else { return [] }
        defer { _ = deflateEnd(&stream) }
        return [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&stream, UInt(bytes.count)))) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
                (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(output.count))
                _ = deflate(&stream, Z_FINISH)
                count = output.count - Int(stream.avail_out)
            }
        }
    }
}
