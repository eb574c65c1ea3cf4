package import TidegateCore

/// The outcome of a question to one server.
package enum DNSOutcome: Sendable, Hashable {
    /// At least one address, valid for the shortest time to live along the chain of aliases.
    case answered([IPAddress], timeToLive: Duration)
    /// The name does not exist (NXDOMAIN).
    case nameNotFound
    /// The name exists, but has no address of this kind.
    case noData
    /// The server answered with a failure, named as in RFC 6895 (`SERVFAIL`, `REFUSED`); `MALFORMED` if it
    /// sent only packets that cannot be parsed or belong to another question. An error on this host has an errno's name
    /// or number.
    case failed(code: String)
    /// The server's port is closed (ECONNREFUSED).
    case refused
    /// No packet reaches the server: this host has no route (nil), or a router reported an error.
    case unreachable(ICMPError?)
    /// No answer arrived in time.
    case timedOut

    /// True if the server answered without a failure, whether or not the name exists.
    package var isAnswer: Bool {
        switch self {
        case .answered, .nameNotFound, .noData: true
        case .failed, .refused, .unreachable, .timedOut: false
        }
    }
}
