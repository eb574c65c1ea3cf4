internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Real connections inside a namespace.
@Suite(.serialized, .enabled(if: World.isPossible, World.need), .timeLimit(.minutes(5)))
struct ConnectCheckTests {
    private let world: World
    private let check: ConnectCheck

    init() throws {
        let world = try World()
        self.world = world
        self.check = ConnectCheck(onThreadStart: { world.here.enter() })
    }

    private func connect(_ texts: String..., port: UInt16 = 80) async throws -> HostCheckResult {
        let addresses = try texts.map { try address($0) }
        return await self.check.connect(to: addresses, port: port, within: .seconds(2))
    }

    @Test("A port that listens passes, in both families, and one good address is enough")
    func passes() async throws {
        let listener = try NetworkNamespaceListener(port: 80, in: self.world.there)
        #expect(try await self.connect("10.0.0.1") == .passed)
        #expect(try await self.connect("2001:db8::1") == .passed)
        #expect(try await self.connect("10.0.0.99", "10.0.0.1") == .passed)
        withExtendedLifetime(listener) {}
    }

    @Test("A closed port, no route and no answer each have their reason")
    func reasons() async throws {
        #expect(try await self.connect("10.0.0.1") == .failed(.refused))
        try self.world.here.batch(
            """
            route add unreachable 203.0.113.0/28
            route add prohibit 203.0.113.16/28
            route add blackhole 203.0.113.32/28
            """)
        #expect(try await self.connect("203.0.113.1") == .failed(.hostUnreachable))
        #expect(try await self.connect("203.0.113.17") == .failed(.prohibited))
        #expect(try await self.connect("203.0.113.33") == .failed(.blackholed))
        #expect(try await self.connect("10.0.0.99", "10.0.0.1") == .failed(.timeout), "the first address's reason")
        try self.world.here.ip("route del default")
        #expect(try await self.connect("198.51.100.1") == .failed(.noRoute))
    }
}
