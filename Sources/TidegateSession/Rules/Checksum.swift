internal import Crypto

/// Bytes summed up in a few, so that a change of one of them shows (FIPS 180-4).
struct SHA256: Sendable {
    private var hash = Crypto.SHA256()

    /// Takes more bytes.
    mutating func add(_ bytes: some Sequence<UInt8>) { self.add(Array(bytes)) }

    /// Takes more bytes.
    mutating func add(_ bytes: [UInt8]) { self.hash.update(data: bytes) }

    /// The sum of everything so far: 32 bytes.
    var sum: [UInt8] { Array(self.hash.finalize()) }
}

/// The sum that HTTP's Digest scheme still asks for (RFC 1321); good for nothing else.
enum MD5 {
    /// The sum of some bytes: 16 bytes.
    static func sum(_ bytes: [UInt8]) -> [UInt8] { Array(Insecure.MD5.hash(data: bytes)) }
}

extension [UInt8] {
    /// The bytes as hexadecimal digits in lower case.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: self.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
