internal import NIOCore
internal import TidegateCore

/// Whose connections count together: an IPv4 address, or the 64 bits of an IPv6 prefix that one host can choose from.
struct PeerAddress: Sendable, Hashable {
    private let octets: [UInt8]

    /// The peer behind a socket address; without one, that of every socket without an address.
    init(_ address: SocketAddress?) {
        self.init(ip: Self.ip(of: address))
    }

    /// The address in a socket address, without its zone; nil if it has none.
    static func ip(of address: SocketAddress?) -> IPAddress? {
        address?.ipAddress.flatMap { IPAddress(String($0.prefix { $0 != "%" })) }
    }

    init(ip address: IPAddress?) {
        self.octets = Array((address?.octets ?? []).prefix(8))
    }
}
