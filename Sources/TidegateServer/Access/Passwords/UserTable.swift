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
