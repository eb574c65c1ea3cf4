package import TidegateCore

/// What came of a question to one server.
package enum DNSOutcome: Sendable, Hashable {
    /// At least one address, good for the shortest time to live along the chain of aliases.
    case answered([IPAddress], timeToLive: Duration)
    /// The name does not exist (NXDOMAIN).
    case nameNotFound
    /// The name exists, but has no address of this kind.
    case noData
    /// The server answered with a failure, named as in RFC 6895 (`SERVFAIL`, `REFUSED`); `MALFORMED` where it sent
    /// nothing else than what cannot be read or belongs to another question. Trouble of this host's own has an errno's
    /// name or number.
    case failed(code: String)
    /// Nothing listens at the server's port (ECONNREFUSED).
    case refused
    /// No packet gets there: by this host's own route (nil), or as somebody on the way says.
    case unreachable(ICMPError?)
    /// Nothing came in time.
    case timedOut

    /// True where the server has answered and is in order, whatever it said about the name.
    package var isAnswer: Bool {
        switch self {
        case .answered, .nameNotFound, .noData: true
        case .failed, .refused, .unreachable, .timedOut: false
        }
    }
}
