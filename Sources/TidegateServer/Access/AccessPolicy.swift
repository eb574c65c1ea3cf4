/// Who is answered, how, and how often: what a `web.yml` says.
package struct AccessPolicy: Sendable {
    /// How connections are encrypted; nil leaves them plain.
    package var tls: TLSServing?
    /// Header fields that every answer carries, over the endpoint's own.
    package var headers: [ConfiguredHeader] = []
    /// Those who are answered; everybody where it is empty.
    package var users = UserTable()
    /// How often anybody is answered; nil is as often as wanted.
    package var rate: RateLimit?

    /// Answers everybody.
    package init() {}
}

/// How often the endpoint answers: once in an interval, and a few times in advance.
package struct RateLimit: Sendable, Hashable {
    /// The time in which one more request is answered; more than zero.
    package let interval: Duration
    /// How many are answered at once after a pause; 1 and up.
    package let burst: Int

    /// A limit.
    package init(interval: Duration, burst: Int) {
        self.interval = interval
        self.burst = burst
    }
}

/// Why a policy cannot be used: which of its parts, and what is wrong with it.
package struct AccessError: Error, Sendable, Hashable {
    /// The part that is wrong.
    package enum Part: Sendable, Hashable {
        case certificate, key, clientAuthorities, tls
    }

    /// The part that is wrong.
    package let part: Part
    /// One clause without a full stop.
    package let message: String
}
