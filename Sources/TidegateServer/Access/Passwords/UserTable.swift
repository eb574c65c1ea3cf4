internal import CCrypt
internal import Glibc

/// The users with access, with the hashes of their passwords.
package struct UserTable: Sendable, Hashable {
    private var hashes: [String: BcryptHash] = [:]

    /// No users.
    package init() {}

    /// True if there are no users.
    package var isEmpty: Bool { self.hashes.isEmpty }

    /// The hash of a user's password.
    package subscript(user: String) -> BcryptHash? {
        get { self.hashes[user] }
        set { self.hashes[user] = newValue }
    }

    /// What has to be hashed to verify a password of `user`.
    ///
    /// It is the same amount of work for every name, whether there is such a user or not: the time of the response must
    /// not reveal which users exist.
    func work(for user: String) -> HashWork {
        let highest = self.hashes.values.map(\.cost).max() ?? BcryptHash.supportedCosts.lowerBound
        guard let hash = self.hashes[user] else {
            return HashWork(hash: .unmatchable(cost: highest), padding: [], isKnownUser: false)
        }
        // 2^c + 2^c + 2^(c+1) + … + 2^(h-1) = 2^h
        return HashWork(
            hash: hash, padding: (hash.cost..<highest).map(BcryptHash.unmatchable), isKnownUser: true)
    }
}

/// The hashes that verify one password, in the time that every password takes.
struct HashWork: Sendable, Hashable {
    /// The hash that the password is compared with.
    let hash: BcryptHash
    /// Hashes computed only for the time that they take.
    let padding: [BcryptHash]
    /// False if the comparison does not count.
    let isKnownUser: Bool

    /// True if the password is the user's.
    ///
    /// Takes as long as bcrypt does, so it must not run on an event loop.
    func verify(_ password: [UInt8]) -> Bool {
        // crypt(3) ends at a zero byte and would accept what stands before it.
        let isWhole = !password.contains(0)
        let isSame = Self.matches(isWhole ? password : [0x20], self.hash)
        for hash in self.padding { _ = Self.matches([0x20], hash) }
        return isSame && isWhole && self.isKnownUser
    }

    private static func matches(_ password: [UInt8], _ hash: BcryptHash) -> Bool {
        // bcrypt uses 72 bytes, and crypt(3) refuses more than 511.
        let phrase = password.prefix(72).map { CChar(bitPattern: $0) } + [0]
        var (memory, size): (UnsafeMutableRawPointer?, Int32) = (nil, 0)
        defer { free(memory) }
        guard let result = crypt_ra(phrase, hash.text, &memory, &size) else { return false }
        let computed = UnsafeBufferPointer(start: result, count: strlen(result)).map { UInt8(bitPattern: $0) }
        return MessageAuthenticator.isSame(computed, Array(hash.text.utf8))
    }
}
