internal import NIOCore
internal import TidegateCore

/// Whose connections count together: an IPv4 address, or the 64 bits of an IPv6 prefix that one host can choose from.
struct PeerAddress: Sendable, Hashable {
    private let octets: [UInt8]

    /// The peer behind a socket address; without one, that of every socket without an address.
    init(_ address: SocketAddress?) {
        self.init(ip: address?.ipAddress.flatMap { IPAddress(String($0.prefix { $0 != "%" })) })
    }

    init(ip address: IPAddress?) {
        let octets = address?.octets ?? []
        // A socket for both families shows IPv4 peers as ::ffff:a.b.c.d (RFC 4291 2.5.5.2).
        if octets.count == 16, octets.starts(with: Array(repeating: 0, count: 10) + [255, 255]) {
            self.octets = Array(octets.suffix(4))
        } else {
            self.octets = Array(octets.prefix(8))
        }
    }
}
