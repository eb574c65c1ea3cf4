internal import CCrypt
internal import COpenSSL
internal import FoundationEssentials
internal import Glibc

/// The users with access, and the hashes of their passwords.
package typealias UserTable = [String: BcryptHash]

extension UserTable {
    /// The hashing that verifies a password of `user`.
    ///
    /// An unknown name is as much work as one of the users, because the response time must not reveal which users exist:
    /// the same one until a restart or a change of the users.
    func work(for user: String) -> HashWork {
        if let hash = self[user] { return HashWork(hash: hash, isKnownUser: true) }
        let costs = self.values.map(\.cost).sorted()
        // Hash values differ from process to process.
        let index = costs.isEmpty ? nil : Int(UInt(bitPattern: user.hashValue) % UInt(costs.count))
        let cost = index.map { costs[$0] } ?? BcryptHash.supportedCosts.lowerBound
        return HashWork(hash: .unmatchable(cost: cost), isKnownUser: false)
    }
}

/// The hash that verifies one password.
struct HashWork: Sendable, Hashable {
    /// The hash to compare the password with.
    let hash: BcryptHash
    /// False if the result of the comparison must be ignored.
    let isKnownUser: Bool

    /// True if the password is the user's.
    ///
    /// Takes as long as bcrypt, so it must not run on an event loop.
    func verify(_ password: [UInt8]) -> Bool {
        // crypt(3) stops at a zero byte, and would accept the text before it.
        let isWhole = !password.contains(0)
        let isSame = Self.matches(isWhole ? password : [0x20], self.hash)
        return isSame && isWhole && self.isKnownUser
    }

    private static func matches(_ password: [UInt8], _ hash: BcryptHash) -> Bool {
        // bcrypt uses 72 bytes, and crypt(3) rejects more than 511.
        let phrase = password.prefix(72).map { CChar(bitPattern: $0) } + [0]
        var (memory, size): (UnsafeMutableRawPointer?, Int32) = (nil, 0)
        defer { free(memory) }
        guard let result = crypt_ra(phrase, hash.text, &memory, &size) else { return false }
        let computed = UnsafeBufferPointer(start: result, count: strlen(result)).map { UInt8(bitPattern: $0) }
        return MessageAuthenticator.isSame(computed, Array(hash.text.utf8))
    }
}

/// The bcrypt hash of a password: `$2y$10$`, 22 characters of salt and 31 characters of hash.
package struct BcryptHash: Sendable, Hashable {
    /// The supported costs: each step doubles the work, and 18 takes many seconds.
    package static let supportedCosts = 4...18

    /// The text of the hash.
    let text: String
    /// The work of one hash, as a power of two.
    package let cost: Int

    /// Parses a hash of the kinds `$2a$`, `$2b$` and `$2y$` of any cost; nil if the text is not one.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(text.prefix(4)), bytes[6] == UInt8(ascii: "$"),
            bytes[7...].allSatisfy(BcryptHash.isBase64Digit), bytes[4...5].allSatisfy({ (0x30...0x39).contains($0) }),
            let cost = Int(text.dropFirst(4).prefix(2)), (4...31).contains(cost)
        else { return nil }
        self.text = text
        self.cost = cost
    }

    /// A hash that matches no password, and takes as long to compare as a real one of this cost.
    static func unmatchable(cost: Int) -> BcryptHash {
        BcryptHash(cost: min(max(cost, self.supportedCosts.lowerBound), self.supportedCosts.upperBound))
    }

    private init(cost: Int) {
        let digits = cost < 10 ? "0\(cost)" : "\(cost)"
        self.text = "$2b$\(digits)$" + String(repeating: "/", count: 21) + String(repeating: ".", count: 32)
        self.cost = cost
    }

    private static func isBase64Digit(_ byte: UInt8) -> Bool {
        [0x2E...0x39, 0x41...0x5A, 0x61...0x7A].contains { $0.contains(byte) }
    }
}

/// The user and the password of an `Authorization` header (RFC 7617).
struct BasicCredentials: Sendable, Hashable {
    let user: String
    let password: [UInt8]
}

extension BasicCredentials {
    /// Parses the header's value; nil if it has another scheme or is malformed.
    init?(_ header: String) {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let decoded = Data(base64Encoded: String(parts[1].drop { $0 == " " }))
        else { return nil }
        let bytes = Array(decoded)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let user = String(validating: bytes[..<colon], as: UTF8.self)
        else { return nil }
        self.init(user: user, password: Array(bytes[(colon + 1)...]))
    }
}

/// HMAC-SHA256 (RFC 2104) with a random key that never leaves the process.
struct MessageAuthenticator: Sendable {
    private let key: [UInt8]

    init() {
        var random = SystemRandomNumberGenerator()
        self.key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// The 32-byte code of `message`; nil if libcrypto fails.
    func code(for message: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard HMAC(EVP_sha256(), self.key, CInt(self.key.count), message, message.count, &code, &length) != nil
        else { return nil }
        return Array(code.prefix(Int(length)))
    }

    /// Compares in a time that depends only on the lengths.
    static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
