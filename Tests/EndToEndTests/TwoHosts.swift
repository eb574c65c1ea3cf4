import TidegateTestKit

/// Two hosts on one cable: network namespaces with a veth pair between them.
///
/// The cable can be pulled.
final class TwoHosts: Sendable {
    static let here = "10.77.0.2"
    static let peer = "10.77.0.1"
    /// An address of the cable's network that neither host has until a test adds it.
    static let neighbour = "10.77.0.3"

    private let near: NetworkNamespace
    private let far: NetworkNamespace

    /// Lays the cable: `uplink` on this side, with a default route to the peer.
    init() throws {
        (self.near, self.far) = (try NetworkNamespace("a"), try NetworkNamespace("b"))
        // The ends get different indexes: with equal ones the kernel delays carrier events by up to a second.
        try self.near.ip("link add uplink index 77 type veth peer name cable netns \(self.far.name)")
        try self.far.batch("addr add \(Self.peer)/24 dev cable\nlink set cable up")
        try self.near.batch(
            "addr add \(Self.here)/24 dev uplink\nlink set uplink up\nroute add default via \(Self.peer)")
    }

    func pullCable() throws { try self.far.ip("link set cable down") }
    func plugCable() throws { try self.far.ip("link set cable up") }

    /// The arguments that run a program on this side.
    func onThisSide(_ arguments: [String]) -> [String] { self.near.inside(arguments) }

    /// The arguments that run a program on the peer.
    func onPeer(_ arguments: [String]) -> [String] { self.far.inside(arguments) }

    /// Runs `ip` on this side, with arguments separated by blanks.
    func ip(_ arguments: String) throws { try self.near.ip(arguments) }
}
