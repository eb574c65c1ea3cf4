/// The users who are answered, with their passwords' hashes.
package struct UserTable: Sendable, Hashable {
    private var hashes: [String: BcryptHash] = [:]

    /// Nobody.
    package init() {}

    /// True where there are no users.
    package var isEmpty: Bool { self.hashes.isEmpty }

    /// The hash of a user's password.
    package subscript(user: String) -> BcryptHash? {
        get { self.hashes[user] }
        set { self.hashes[user] = newValue }
    }

    /// What has to be computed to tell whether a password is a user's.
    ///
    /// It is the same amount of work for everybody, whether there is such a user or not: the answer's time must not
    /// tell who is in the book.
    func work(for user: String) -> Work {
        let highest = self.hashes.values.map(\.cost).max() ?? BcryptHash.costs.lowerBound
        guard let hash = self.hashes[user] else {
            return Work(hash: .ofNobody(cost: highest), padding: [], isKnown: false)
        }
        // 2^c + 2^c + 2^(c+1) + … + 2^(h-1) = 2^h
        return Work(hash: hash, padding: (hash.cost..<highest).map(BcryptHash.ofNobody), isKnown: true)
    }

    struct Work: Sendable, Hashable {
        /// What the password is compared with.
        let hash: BcryptHash
        /// What is computed for nothing.
        let padding: [BcryptHash]
        /// False where the comparison does not count.
        let isKnown: Bool
    }
}
