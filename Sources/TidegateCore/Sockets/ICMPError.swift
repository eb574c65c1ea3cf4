/// An ICMP error, or this host's own refusal, as a socket's error queue reports it (IP_RECVERR in ip(7)).
package struct ICMPError: Sendable, Hashable {
    /// The sender: this host's own address if the neighbour did not answer; nil if the kernel names none.
    package var offender: IPAddress?
    /// The ICMP type: 3 is destination unreachable for IPv4, 1 for IPv6; 0 for an error made by this host.
    package var type: UInt8
    /// The ICMP code.
    package var code: UInt8

    /// An error from its parts.
    package init(offender: IPAddress?, type: UInt8, code: UInt8) {
        (self.offender, self.type, self.code) = (offender, type, code)
    }

    /// What an ICMP error says, in both versions of IP (RFC 792, RFC 1812, RFC 4443).
    package enum Kind: String, Sendable, CaseIterable, Hashable, CustomStringConvertible {
        /// There is no route.
        case noRoute
        /// The host does not answer on its own link.
        case hostUnreachable
        /// Nothing listens.
        case portUnreachable
        /// A filter forbids it.
        case prohibited
        /// The packet passed more routers than its hop limit allows.
        case timeExceeded
        /// Something else.
        case other

        /// The kind as network tools name it: `no route`.
        package var description: String {
            switch self {
            case .noRoute: "no route"
            case .hostUnreachable: "host unreachable"
            case .portUnreachable: "port unreachable"
            case .prohibited: "administratively prohibited"
            case .timeExceeded: "time to live exceeded"
            case .other: "unreachable"
            }
        }

        fileprivate var preposition: String {
            switch self {
            case .noRoute, .timeExceeded, .other: "to"
            case .hostUnreachable, .portUnreachable, .prohibited: "at"
            }
        }
    }

    /// The meaning of the error.
    ///
    /// The types of the two IP versions differ; without an offender, types 1 and 3 still identify the version, because
    /// neither is used with the other's meaning here.
    package var kind: Kind { self.isICMPv6 ? self.kind6 : self.kind4 }

    /// True if the link-layer address was not found, either here or at the last router.
    package var isHostUnreachable: Bool { self.kind == .hostUnreachable }

    var json: JSONValue {
        ["type": .whole(self.type), "code": .whole(self.code), "from": .optional(self.offender?.description)]
    }

    /// The sender, or else `unknown`.
    package func sender(or unknown: String) -> String { self.offender.map { "\($0)" } ?? unknown }

    /// True if `address` sent it, regardless of its zone.
    package func isFrom(_ address: IPAddress?) -> Bool {
        guard let address, let offender = self.offender else { return false }
        return offender.withoutZone == address.withoutZone
    }

    // A time exceeded of ICMPv6 is type 3, as a destination unreachable of ICMP is.
    private var isICMPv6: Bool { self.offender?.family == .ipv6 || (self.offender == nil && self.type == 1) }

    private var kind4: Kind {
        switch (self.type, self.code) {
        case (3, 0), (3, 5), (3, 6), (3, 11): .noRoute
        case (3, 1), (3, 7), (3, 12): .hostUnreachable
        case (3, 2), (3, 3): .portUnreachable
        case (3, 9), (3, 10), (3, 13): .prohibited
        case (11, _): .timeExceeded
        default: .other
        }
    }

    private var kind6: Kind {
        switch (self.type, self.code) {
        case (1, 0), (1, 2), (1, 6): .noRoute
        case (1, 3): .hostUnreachable
        case (1, 4): .portUnreachable
        case (1, 1), (1, 5): .prohibited
        case (3, _): .timeExceeded
        default: .other
        }
    }

    // MARK: Text

    /// The error as a network engineer would put it: `10.0.0.1 says: no route to 198.51.100.2 (ICMP 3/0)`.
    ///
    /// `role` says what the sender is: `10.0.0.1 (the gateway) says: …`.
    package func sentence(about destination: IPAddress?, role: String? = nil) -> String {
        let sender = self.sender(or: "this host")
        let subject = role.map { "\(sender) (\($0))" } ?? sender
        let object = destination.map { " \(self.kind.preposition) \($0)" } ?? ""
        return "\(subject) says: \(self.kind)\(object) (\(self.number))"
    }

    /// The type and the code: `ICMP 3/0`, `ICMPv6 1/0`.
    package var number: String { "\(self.isICMPv6 ? "ICMPv6" : "ICMP") \(self.type)/\(self.code)" }
}
