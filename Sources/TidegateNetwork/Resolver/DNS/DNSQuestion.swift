package import TidegateCore

/// A question about a name, for one server.
package struct DNSQuestion: Sendable, Hashable {
    /// The type of record.
    package enum RecordType: String, Sendable, CaseIterable, Hashable {
        /// IPv4 addresses.
        case a = "A"
        /// IPv6 addresses.
        case aaaa = "AAAA"
    }

    /// The full name, with or without a final dot; no search list is applied.
    package var name: String
    /// The type of record.
    package var type: RecordType
    /// The server; a link-local one needs its zone.
    package var server: IPAddress
    /// The server's port.
    package var port: UInt16
    /// How long to wait for an answer in total.
    package var limit: Duration

    package init(
        name: String, type: RecordType, server: IPAddress, port: UInt16 = 53, limit: Duration = .seconds(3)
    ) {
        self.name = name
        self.type = type
        self.server = server
        self.port = port
        self.limit = limit
    }
}

extension DNSQuestion.RecordType {
    /// The record type for addresses of a family.
    package init(_ family: AddressFamily) { self = family == .ipv4 ? .a : .aaaa }

    /// The family of the addresses.
    package var family: AddressFamily { self == .a ? .ipv4 : .ipv6 }
}

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
