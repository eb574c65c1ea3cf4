internal import HTTPTypes

/// An access policy whose certificates have been parsed and fit together.
package struct LoadedAccessPolicy: Sendable {
    let tls: TLSContext?
    let headers: [HTTPField]
    let users: UserTable
    let rate: RateLimit?

    /// Parses the certificates of a policy.
    ///
    /// - Throws: ``AccessError`` naming the part that cannot be used.
    package init(_ policy: AccessPolicy) throws(AccessError) {
        self.tls = try policy.tls.map { configuration throws(AccessError) in try TLSContext(configuration) }
        self.headers = policy.headers
        self.users = policy.users
        self.rate = policy.rate
    }

    /// True if connections are encrypted.
    package var isEncrypted: Bool { self.tls != nil }

    /// True if requests need a user and a password.
    package var hasUsers: Bool { !self.users.isEmpty }

    /// True if requests need a user and a password, or a certificate that an authority of the policy signed.
    package var authenticates: Bool { self.hasUsers || self.tls?.verifiesClients ?? false }
}

/// Loads the access policy that is in force.
package protocol AccessPolicyLoader: Sendable {
    /// The policy in force now. May read files: it is called on a thread that may block.
    func currentPolicy() -> LoadedAccessPolicy
}
