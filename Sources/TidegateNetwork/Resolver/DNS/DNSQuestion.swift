package import TidegateCore

/// A question about a name, for one server.
package struct DNSQuestion: Sendable, Hashable {
    /// The type of record.
    package enum RecordType: Sendable, CaseIterable, Hashable {
        /// IPv4 addresses.
        case a
        /// IPv6 addresses.
        case aaaa
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
    package init(_ family: AddressFamily) {
        self =
            switch family {
            case .ipv4: .a
            case .ipv6: .aaaa
            }
    }

    /// The name of the type.
    var name: String {
        switch self {
        case .a: "A"
        case .aaaa: "AAAA"
        }
    }

    /// The family of the addresses.
    package var family: AddressFamily {
        switch self {
        case .a: .ipv4
        case .aaaa: .ipv6
        }
    }
}
