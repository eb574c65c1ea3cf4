/// What an ICMP error says, in both versions of IP (RFC 792, RFC 1812, RFC 4443).
public enum ICMPErrorKind: String, Sendable, CaseIterable, Hashable {
    /// There is no route.
    case noRoute
    /// The host does not answer on its own link.
    case hostUnreachable
    /// Nobody listens.
    case portUnreachable
    /// A filter forbids it.
    case prohibited
    /// The packet went round in circles, or too far.
    case timeExceeded
    /// Something else.
    case other

    /// What people say for it.
    public var words: String {
        switch self {
        case .noRoute: "no route"
        case .hostUnreachable: "host unreachable"
        case .portUnreachable: "port unreachable"
        case .prohibited: "administratively prohibited"
        case .timeExceeded: "time to live exceeded"
        case .other: "unreachable"
        }
    }
}

extension ICMPError {
    /// What it says.
    ///
    /// Types mean other things in the other version of IP; without an offender, 1 and 3 still tell which one it is:
    /// neither is used with the other's meaning here.
    public var meaning: ICMPErrorKind { self.isICMPv6 ? self.meaning6 : self.meaning4 }

    /// True where the link-layer address was not found, be it here or at the last router.
    public var isHostUnreachable: Bool { self.meaning == .hostUnreachable }

    // A time exceeded of ICMPv6 is type 3, as a destination unreachable of ICMP is.
    var isICMPv6: Bool { self.offender?.family == .ipv6 || (self.offender == nil && self.type == 1) }

    private var meaning4: ICMPErrorKind {
        switch (self.type, self.code) {
        case (3, 0), (3, 5), (3, 6), (3, 11): .noRoute
        case (3, 1), (3, 7), (3, 12): .hostUnreachable
        case (3, 2), (3, 3): .portUnreachable
        case (3, 9), (3, 10), (3, 13): .prohibited
        case (11, _): .timeExceeded
        default: .other
        }
    }

    private var meaning6: ICMPErrorKind {
        switch (self.type, self.code) {
        case (1, 0), (1, 2), (1, 6): .noRoute
        case (1, 3): .hostUnreachable
        case (1, 4): .portUnreachable
        case (1, 1), (1, 5): .prohibited
        case (3, _): .timeExceeded
        default: .other
        }
    }
}
