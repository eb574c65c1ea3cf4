package import HTTPTypes

/// Who may send requests, how, and how often: the contents of a `web.yml`.
package struct AccessPolicy: Sendable, Hashable {
    /// How connections are encrypted; nil for plain HTTP.
    package var tls: TLSServerConfiguration?
    /// Header fields of every response; they replace the endpoint's own.
    package var headers: [HTTPField] = []
    /// The users with access; if empty, no password is needed.
    package var users = UserTable()
    /// The rate of requests of each peer; nil for no limit.
    package var rate: RateLimit?

    /// Access for every client, over plain HTTP.
    package init() {}
}

/// A rate of requests: one per interval, and a burst after a pause.
package struct RateLimit: Sendable, Hashable {
    /// The time per request; more than zero.
    package let interval: Duration
    /// How many requests may come at once after a pause; 1 or more.
    package let burst: Int

    /// A limit.
    package init(interval: Duration, burst: Int) {
        self.interval = interval
        self.burst = burst
    }
}

/// Why a policy cannot be used: which of its parts is wrong, and what is wrong with it.
package struct AccessError: Error, Sendable, Hashable {
    /// A part of a policy.
    package enum Part: Sendable, Hashable {
        case certificate, key, clientAuthorities, tls
    }

    /// The part that is wrong.
    package let part: Part
    /// One clause without a full stop.
    package let message: String
}

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
