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
