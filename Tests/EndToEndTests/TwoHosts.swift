import Foundation
import TidegateTestKit

/// Two hosts on one cable: network namespaces with a veth pair between them.
///
/// The cable can be pulled.
final class TwoHosts: Sendable {
    static let here = "10.77.0.2"
    static let peer = "10.77.0.1"
    /// An address of the cable's network that neither host has until a test adds it.
    static let neighbour = "10.77.0.3"

    private let name: String
    private var inside: String { "\(self.name)a" }
    private var outside: String { "\(self.name)b" }

    /// Lays the cable: `uplink` on this side, with a default route to the peer.
    init() async throws {
        self.name = "tg\(UInt32.random(in: 0..<0xFFFF_FFFF))"
        for namespace in [self.inside, self.outside] {
            try await Program.expect(["ip", "netns", "add", namespace])
            try await Program.expect(["ip", "-n", namespace, "link", "set", "lo", "up"])
        }
        // The ends get different indexes: with equal ones the kernel delays carrier events by up to a second.
        try await Program.expect(
            [
                "ip", "link", "add", "uplink", "index", "77", "netns", self.inside, "type", "veth", "peer", "name",
                "cable", "netns", self.outside,
            ])
        try await self.ip(self.outside, "addr add \(Self.peer)/24 dev cable")
        try await self.ip(self.outside, "link set cable up")
        try await self.ip(self.inside, "addr add \(Self.here)/24 dev uplink")
        try await self.ip(self.inside, "link set uplink up")
        try await self.ip(self.inside, "route add default via \(Self.peer)")
    }

    func pullCable() async throws { try await self.ip(self.outside, "link set cable down") }
    func plugCable() async throws { try await self.ip(self.outside, "link set cable up") }

    /// The arguments that run a program on this side.
    func onThisSide(_ arguments: [String]) -> [String] { ["ip", "netns", "exec", self.inside] + arguments }

    /// The arguments that run a program on the peer.
    func onPeer(_ arguments: [String]) -> [String] { ["ip", "netns", "exec", self.outside] + arguments }

    func tearDown() async throws {
        for namespace in [self.inside, self.outside] { try await Program.expect(["ip", "netns", "del", namespace]) }
    }

    /// Runs `ip` on this side, with arguments separated by blanks.
    func ip(_ arguments: String) async throws { try await self.ip(self.inside, arguments) }

    private func ip(_ namespace: String, _ arguments: String) async throws {
        try await Program.expect(["ip", "-n", namespace] + arguments.split(separator: " ").map(String.init))
    }
}
