package import HTTPTypes

/// Who may send requests, how, and how often: the contents of a `web.yml`.
package struct AccessPolicy: Sendable {
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
