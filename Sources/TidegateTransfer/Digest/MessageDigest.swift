internal import COpenSSL

/// An incremental SHA-256 (FIPS 180-4).
package struct SHA256Digest: ~Copyable {
    private let context: OpaquePointer?
    // False after a failed call: libcrypto is out of memory or not permitted to compute.
    private var isValid: Bool

    package init() {
        self.context = EVP_MD_CTX_new()
        self.isValid = EVP_DigestInit_ex(self.context, EVP_sha256(), nil) == 1
    }

    deinit { EVP_MD_CTX_free(self.context) }

    /// Adds bytes.
    package mutating func update(_ bytes: [UInt8]) {
        if EVP_DigestUpdate(self.context, bytes, bytes.count) != 1 { self.isValid = false }
    }

    /// The 32 bytes for all data so far; empty, which equals no digest, if libcrypto failed.
    package var value: [UInt8] {
        // The final step ends a context, and more data may follow.
        let copy = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(copy) }
        var value = [UInt8](repeating: 0, count: 32)
        guard self.isValid, EVP_MD_CTX_copy_ex(copy, self.context) == 1,
            EVP_DigestFinal_ex(copy, &value, nil) == 1
        else { return [] }
        return value
    }
}

/// Digests of bytes in memory.
package enum MessageDigest {
    /// The 32 bytes of SHA-256; empty if libcrypto failed.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { self.compute(bytes, EVP_sha256(), count: 32) }

    /// The 16 bytes of MD5 (RFC 1321), only for HTTP Digest authentication; empty if libcrypto failed.
    package static func md5(_ bytes: [UInt8]) -> [UInt8] { self.compute(bytes, EVP_md5(), count: 16) }

    private static func compute(_ bytes: [UInt8], _ algorithm: OpaquePointer?, count: Int) -> [UInt8] {
        var value = [UInt8](repeating: 0, count: count)
        return EVP_Digest(bytes, bytes.count, &value, nil, algorithm, nil) == 1 ? value : []
    }
}

extension [UInt8] {
    /// The bytes as hexadecimal digits in lower case.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: self.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
