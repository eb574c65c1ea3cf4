import Foundation
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// Connects that a router refuses, or that find no router.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverUnreachableTests {
    // A network behind the gateway where every connect is answered with "host unreachable", 50 ms later: one that is
    // answered at once has failed before connect(2) returns.
    private static let router = """
        import fcntl, os, struct, subprocess, time
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, 0x400454ca, struct.pack("16sH22s", b"t0", 0x1001, b""))
        subprocess.run(["ip", "link", "set", "t0", "up"], check=True)
        subprocess.run(["ip", "route", "add", "203.0.113.0/24", "dev", "t0"], check=True)
        def checksum(data):
            total = sum(struct.unpack(f">{len(data) // 2}H", data))
            while total >> 16: total = (total & 0xffff) + (total >> 16)
            return struct.pack(">H", ~total & 0xffff)
        print("routing", flush=True)
        while True:
            packet = os.read(device, 2000)
            if packet[0] >> 4 != 4 or packet[9] != 6: continue
            time.sleep(0.05)
            message = b"\\x03\\x01\\0\\0\\0\\0\\0\\0" + packet[:28]
            message = message[:2] + checksum(message) + message[4:]
            header = struct.pack(
                ">BBHHHBBH4s4s", 0x45, 0, 20 + len(message), 0, 0, 64, 1, 0, packet[16:20], packet[12:16])
            header = header[:10] + checksum(header) + header[12:]
            os.write(device, header + message)
        """

    private func fixture() async throws -> (fixture: ObserverFixture, router: Program) {
        let fixture = try await ObserverFixture()
        let router = try Program([
            "ip", "netns", "exec", fixture.hosts.gateway.name, "python3", "-c", Self.router,
        ])
        let isRouting = await eventually { router.outputSoFar.contains("routing") }
        try #require(isRouting, "\(router.errorsSoFar)")
        return (fixture, router)
    }

    @Test("A connect that a router refuses late is told from those that programs gave up in the same second")
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
