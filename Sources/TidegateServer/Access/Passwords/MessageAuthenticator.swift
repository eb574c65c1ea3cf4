internal import COpenSSL

/// HMAC-SHA256 (RFC 2104) with a random key that never leaves the process.
struct MessageAuthenticator: Sendable {
    private let key: [UInt8]

    init() {
        var random = SystemRandomNumberGenerator()
        self.key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// The 32 bytes that belong to `message`; nil if libcrypto could not compute them.
    func code(for message: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard HMAC(EVP_sha256(), self.key, CInt(self.key.count), message, message.count, &code, &length) != nil
        else { return nil }
        return Array(code.prefix(Int(length)))
    }

    /// Compares in a time that depends on the lengths only.
    static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
