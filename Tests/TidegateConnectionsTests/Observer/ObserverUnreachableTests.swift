import Foundation
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// Connects that a router refuses, or that find no router.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverUnreachableTests {
    private func fixture() async throws -> (fixture: ObserverFixture, router: Program) {
        let fixture = try await ObserverFixture()
        let router = try await UnreachableNetwork.start(behind: fixture.hosts.gateway)
        return (fixture, router)
    }

    @Test("A connect that a router refuses late is distinguished from those that programs gave up in the same second")
    func late() async throws {
        let (fixture, router) = try await self.fixture()
        defer { router.signal(SIGKILL) }
        try ThreeHosts.filter(
            fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; tcp dport 81 drop; }; }")
        try await fixture.run(
            """
            import select
            cancelled = []
            for _ in range(10):
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex((far, 81))
                cancelled.append(connection)
            refused = socket.socket()
            refused.setblocking(False)
            refused.connect_ex(("203.0.113.9", 82))
            select.select([], [refused], [], 10)
            assert refused.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 113
            for connection in cancelled + [refused]: connection.close()
            """)
        let isCounted = await eventually { fixture.statistics.connects.values.reduce(0, +) == 11 }
        #expect(isCounted, "\(fixture.statistics.connects)")
        #expect(fixture.connects == [.unreachable: 1, .abandoned: 10])
        let isAttributed = await eventually { fixture.statistics.failures == [.init(.unreachable, .path): 1] }
        #expect(isAttributed, "\(fixture.statistics.failures)")
    }

    @Test("A blocking connect that a router refuses is unreachable, though the kernel forgets its port")
    func blocking() async throws {
        let (fixture, router) = try await self.fixture()
        defer { router.signal(SIGKILL) }
        try await fixture.run(
            """
            connection = socket.socket()
            try:
                connection.connect(("203.0.113.9", 81))
            except OSError as error:
                assert error.errno == 113
            """)
        let isCounted = await eventually { fixture.connects == [.unreachable: 1] }
        #expect(isCounted, "\(fixture.statistics.connects)")
        let remote = Remote(try #require(IPAddress("203.0.113.9")), port: nil, .outgoing)
        let isReported = await eventually {
            fixture.events.contains(.failed(.init(remote, .unreachable, party: .path, count: 1)))
        }
        #expect(isReported, "\(fixture.events)")
    }

    @Test("A connect behind a gateway that is gone was never sent, which is the gateway's failure")
    func gateway() async throws {
        let fixture = try await ObserverFixture()
        try fixture.hosts.gateway.ip("addr del 10.0.0.1/24 dev p0")
        try fixture.hosts.here.ip("neigh flush all")
        try await fixture.run(
            """
            try:
                connect(9000, limit=20)
            except OSError as error:
                assert error.errno == 113
            else:
                raise SystemExit("connected")
            """)
        let isAttributed = await eventually { fixture.statistics.failures == [.init(.notSent, .gateway): 1] }
        #expect(isAttributed, "\(fixture.statistics.failures) \(fixture.statistics.connects)")
        #expect(fixture.connects == [.notSent: 1])
    }
}
