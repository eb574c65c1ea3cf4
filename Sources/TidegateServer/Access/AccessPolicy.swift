package import HTTPTypes

/// Which clients may send requests, how, and how often: the contents of a `web.yml`.
package struct AccessPolicy: Sendable, Hashable {
    /// How connections are encrypted; nil for plain HTTP.
    package var tls: TLSServerConfiguration?
    /// Header fields of every response; they replace the endpoint's own.
    package var headers: [HTTPField] = []
    /// The users with access; if empty, no password is required.
    package var users = UserTable()
    /// The rate limit of each peer; nil for none.
    package var rate: RateLimit?

    /// Access for every client, over plain HTTP.
    package init() {}
}

/// A rate limit: one request per interval, and a burst after a pause.
package struct RateLimit: Sendable, Hashable {
    /// The time per request; more than zero.
    package let interval: Duration
    /// How many requests may arrive together after a pause; 0 refuses every request.
    package let burst: Int

    /// A limit with these values.
    package init(interval: Duration, burst: Int) {
        self.interval = interval
        self.burst = burst
    }
}

/// Why a policy cannot be used: the invalid part, and what is wrong with it.
package struct AccessError: Error, Sendable, Hashable {
    /// A part of a policy.
    package enum Part: Sendable, Hashable {
        case certificate, key, clientAuthorities, tls
    }

    /// The invalid part.
    package let part: Part
    /// One clause without a full stop.
    package let message: String
}

/// An access policy whose certificates have been parsed and match their keys.
package struct LoadedAccessPolicy: Sendable {
    let tls: TLSContext?
    let headers: [HTTPField]
    let users: UserTable
    let rate: RateLimit?

    /// Parses the certificates of a policy.
    ///
    /// - Throws: ``AccessError`` that names the unusable part.
    package init(_ policy: AccessPolicy) throws(AccessError) {
        self.tls = try policy.tls.map { configuration throws(AccessError) in try TLSContext(configuration) }
        self.headers = policy.headers
        self.users = policy.users
        self.rate = policy.rate
    }

    /// True if connections are encrypted.
    package var isEncrypted: Bool { self.tls != nil }

    /// True if requests need a user name and a password.
    package var hasUsers: Bool { !self.users.isEmpty }

    /// True if requests need a user name and a password, or a certificate signed by an authority of the policy.
    package var authenticates: Bool { self.hasUsers || self.tls?.verifiesClients ?? false }
}

/// Loads the current access policy.
package protocol AccessPolicyLoader: Sendable {
    /// The current policy. May read files: it is called on a thread that may block.
    func currentPolicy() -> LoadedAccessPolicy
}
