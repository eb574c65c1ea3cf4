/// An ICMP error, or this host's own refusal, as a socket's error queue tells it (IP_RECVERR in ip(7)).
public struct ICMPError: Sendable, Hashable {
    /// Who sent the error: this host's own address where the neighbour did not answer; nil where nobody is named.
    public var offender: IPAddress?
    /// The ICMP type: 3 is destination unreachable for IPv4, 1 for IPv6; 0 for an error made by this host.
    public var type: UInt8
    /// The ICMP code.
    public var code: UInt8

    /// A refusal from its parts.
    public init(offender: IPAddress?, type: UInt8, code: UInt8) {
        self.offender = offender
        self.type = type
        self.code = code
    }

    /// True where `address` sent it, whatever its zone.
    public func isFrom(_ address: IPAddress?) -> Bool {
        guard let address, let offender = self.offender else { return false }
        return offender.withoutZone == address.withoutZone
    }
}
