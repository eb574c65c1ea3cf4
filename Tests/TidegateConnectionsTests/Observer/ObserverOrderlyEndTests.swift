import Foundation
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// Connections that end in order, by whatever side and over whatever path.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverOrderlyEndTests {
    // Five endings: this side first, the peer first, half closed, two megabytes to a peer that reads slowly, and a
    // connection without a byte.
    private static let endings = """
        connection = connect(9001)
        connection.sendall(b"a" * 1000)
        connection.recv(100)
        connection.close()
        connection = connect(9000)
        connection.sendall(b"b" * 1000)
        while connection.recv(4096): pass
        connection.close()
        connection = connect(9001)
        connection.sendall(b"c" * 1000)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096): pass
        connection.close()
        connection = connect(9100, limit=60)
        connection.sendall(b"d" * 2000000)
        connection.close()
        connect(9001).close()

        """

    // Reads two megabytes in small pieces.
    private static let slow = """
        import socket, time
        listener = socket.socket(socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        listener.bind(("", 9100))
        listener.listen()
        print("listening", flush=True)
        while True:
            connection = listener.accept()[0]
            while connection.recv(50000): time.sleep(0.005)
            connection.close()
        """

    private func fixture() async throws -> (fixture: ObserverFixture, server: Program) {
        let fixture = try await ObserverFixture()
        let server = try Program(["ip", "netns", "exec", fixture.hosts.far.name, "python3", "-c", Self.slow])
        let isListening = await eventually { server.outputSoFar.contains("listening") }
        try #require(isListening, "\(server.errorsSoFar)")
        return (fixture, server)
    }

    private static func ends(_ fixture: ObserverFixture) -> [ConnectionOutcome: UInt64] {
        fixture.statistics.traffic[.outgoing]?.ends ?? [:]
    }

    @Test("Connections are closed and every byte is counted once, whether client or server closes first")
    func whole() async throws {
        let (fixture, server) = try await self.fixture()
        defer { server.signal(SIGKILL) }
        try await fixture.run(Self.endings)
        let isCounted = await eventually { Self.ends(fixture).values.reduce(0, +) == 5 }
        #expect(isCounted)
        #expect(Self.ends(fixture) == [.closed: 5])
        #expect(fixture.connects == [.established: 5])
        #expect(fixture.statistics.traffic[.outgoing]?.sentBytes == 2_003_000)
        #expect(fixture.statistics.failures.isEmpty)
    }

    @Test("With five percent of loss they are closed, too; what was sent again is counted apart")
    func loss() async throws {
        let (fixture, server) = try await self.fixture()
        defer { server.signal(SIGKILL) }
        try ThreeHosts.filter(
            fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; numgen random mod 100 < 5 drop; }; }")
        try await fixture.run(Self.endings)
        let isCounted = await eventually { Self.ends(fixture).values.reduce(0, +) == 5 }
        #expect(isCounted)
        #expect(Self.ends(fixture) == [.closed: 5])
        #expect(fixture.connects == [.established: 5])
        let traffic = try #require(fixture.statistics.traffic[.outgoing])
        #expect(traffic.retransmittedSegments > 0)
        #expect(traffic.sentBytes == 2_003_000)
    }

    @Test(
        "A round trip is that of the path, not that of acknowledgements which a peer delays",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func roundTrip() async throws {
        let (fixture, server) = try await self.fixture()
        defer { server.signal(SIGKILL) }
        try await fixture.run(Self.endings)
        let isCounted = await eventually { Self.ends(fixture).values.reduce(0, +) == 5 }
        #expect(isCounted)
        let trips = try #require(fixture.statistics.roundTrips[.public])
        #expect(trips.counts.reduce(0, +) == 5)
        #expect(zip(trips.bounds, trips.counts).filter { $0.0 <= 0.001 }.map(\.1).reduce(0, +) == 5, "\(trips)")
    }

    @Test("Connections whose first packet has data are established and closed like others")
    func fastOpen() async throws {
        let fixture = try await ObserverFixture()
        for host in [fixture.hosts.here, fixture.hosts.far] { try host.sysctl("net.ipv4.tcp_fastopen=3") }
        let server = try Program([
            "ip", "netns", "exec", fixture.hosts.far.name, "python3", "-c",
            """
            import socket
            listener = socket.socket()
            listener.setsockopt(socket.IPPROTO_TCP, 23, 16)
            listener.bind(("", 9200))
            listener.listen()
            print("listening", flush=True)
            while True:
                connection = listener.accept()[0]
                connection.recv(1000)
                connection.sendall(b"answer")
                connection.recv(1000)
                connection.close()
            """,
        ])
        defer { server.signal(SIGKILL) }
        let isListening = await eventually { server.outputSoFar.contains("listening") }
        try #require(isListening, "\(server.errorsSoFar)")
        // The first one gets a cookie; of the others the kernel says that their SYN had data (TCPI_OPT_SYN_DATA).
        try await fixture.run(
            """
            for number in range(5):
                connection = socket.socket()
                connection.sendto(b"q" * 100, 0x20000000, (far, 9200))
                connection.recv(100)
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 100)
                assert number == 0 or info[5] & 32, info[5]
                connection.close()
            """)
        let isCounted = await eventually { Self.ends(fixture).values.reduce(0, +) == 5 }
        #expect(isCounted)
        #expect(Self.ends(fixture) == [.closed: 5])
        #expect(fixture.connects == [.established: 5])
        #expect(fixture.statistics.traffic[.outgoing]?.sentBytes == 500)
    }

    @Test("A connection that only its peer keeps open has ended, and counts once, though lists still show it")
    func halfOpen() async throws {
        var configuration = ConnectionsConfiguration()
        configuration.establishedInterval = .seconds(1)
        let fixture = try await ObserverFixture(configuration)
        let program = try fixture.start(
            """
            keep = connect(9001)
            connection = connect(9003)
            connection.sendall(b"x" * 100)
            connection.close()
            time.sleep(60)
            """)
        defer { program.signal(SIGKILL) }
        let isCounted = await eventually { Self.ends(fixture) == [.closed: 1] }
        #expect(isCounted)
        let lists = { fixture.statistics.dumps[.established]?.counts.reduce(0, +) ?? 0 }
        let before = lists()
        let isListed = await eventually { lists() >= before + 4 }
        #expect(isListed)
        #expect(fixture.connects == [.established: 2])
        let remotes = await fixture.observer.report().remotes
        #expect(remotes.first { $0.remote.port == 9003 }?.closing == 0)
        #expect(fixture.statistics.tracked == 1)
    }

    @Test("What a long connection has sent never becomes less, also when its program resets it")
    func abortedLater() async throws {
        // The intervals of every day: the connection is twelve seconds old, and idle for the last six.
        let fixture = try await ObserverFixture()
        let program = try fixture.start(
            """
            connection = connect(9001, limit=30)
            for _ in range(6):
                connection.sendall(b"y" * 5000)
                connection.recv(100)
                time.sleep(1)
            time.sleep(6)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            """)
        var samples: [UInt64] = []
        let isCounted = await eventually {
            samples.append(fixture.statistics.traffic[.outgoing]?.sentBytes ?? 0)
            return Self.ends(fixture) == [.aborted: 1]
        }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        samples.append(fixture.statistics.traffic[.outgoing]?.sentBytes ?? 0)
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $0 <= $1 }, "\(Set(samples).sorted())")
        #expect(samples.last == 30_000)
        let report = await fixture.observer.report()
        #expect(report.remotes.map(\.remote.port) == [9001])
        #expect(report.remotes.map(\.outcomes) == [[.aborted: 1]])
        #expect(await program.finish().status == 0)
    }
}
