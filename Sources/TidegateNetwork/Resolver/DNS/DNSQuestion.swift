package import TidegateCore

/// A question about a name, for one server.
package struct DNSQuestion: Sendable, Hashable {
    /// What is asked for.
    package enum RecordType: Sendable, CaseIterable, Hashable {
        /// IPv4 addresses.
        case a
        /// IPv6 addresses.
        case aaaa
    }

    /// The full name; a final dot changes nothing, and no search list is applied.
    package var name: String
    /// What is asked for.
    package var type: RecordType
    /// Whom to ask; a link-local server needs its zone.
    package var server: IPAddress
    /// The server's port.
    package var port: UInt16
    /// How long to wait for a usable answer altogether.
    package var limit: Duration

    /// A question from its parts.
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
    /// The record that has addresses of a family.
    package init(_ family: AddressFamily) {
        self =
            switch family {
            case .ipv4: .a
            case .ipv6: .aaaa
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
