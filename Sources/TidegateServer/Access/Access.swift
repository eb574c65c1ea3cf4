/// A policy that is ready to be used: its certificates have been read and fit together.
package struct Access: Sendable {
    let tls: TLSContext?
    let headers: [ConfiguredHeader]
    let users: UserTable
    let rate: RateLimit?

    /// Prepares a policy.
    ///
    /// - Throws: ``AccessError`` naming the part that cannot be used.
    package init(_ policy: AccessPolicy) throws(AccessError) {
        self.tls = try policy.tls.map { serving throws(AccessError) in try TLSContext(serving) }
        self.headers = policy.headers
        self.users = policy.users
        self.rate = policy.rate
    }

    /// True where connections are encrypted.
    package var isEncrypted: Bool { self.tls != nil }

    /// True where only users are answered.
    package var hasUsers: Bool { !self.users.isEmpty }
}

/// Where the endpoint learns who is answered.
package protocol AccessSource: Sendable {
    /// What holds now; it may read files, and is called on a thread that may wait for them.
    func current() -> Access
}
