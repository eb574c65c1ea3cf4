import CLinux
import Foundation
import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// What is observed of the connections of other programs, in namespaces of their own.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverScenarioTests {
    @Test("A connect that a peer refuses is counted, attributed, and told with its port")
    func refused() async throws {
        let fixture = try await ObserverFixture()
        try await fixture.run(
            """
            try:
                connect(1)
            except ConnectionRefusedError:
                pass
            """)
        let isCounted = await eventually { fixture.statistics.connects[.refused] == 1 }
        #expect(isCounted, "\(fixture.statistics.connects)")
        // Its party is known once the route is.
        let isAttributed = await eventually { fixture.statistics.failures == [.init(.refused, .theirs): 1] }
        #expect(isAttributed, "\(fixture.statistics.failures)")
        let remote = Remote(try #require(IPAddress(ThreeHosts.farAddress.ipv4)), port: 1, .outgoing)
        #expect(fixture.events.contains(.failed(.init(remote, .refused, party: .theirs, count: 1))))
    }

    @Test("A blocking connect that is refused loses its port, and counts for the only target of that address")
    func refusedWithoutPort() async throws {
        let address = try #require(IPAddress(ThreeHosts.farAddress.ipv4))
        let fixture = try await ObserverFixture(
            targets: [ObservedTarget(name: "x", addresses: [address], port: 1)])
        try await fixture.run(
            """
            connection = socket.socket()
            try:
                connection.connect((far, 1))
            except ConnectionRefusedError:
                pass
            """)
        let isCounted = await eventually { fixture.statistics.connects[.refused] == 1 }
        #expect(isCounted, "\(fixture.statistics.connects)")
        let report = await fixture.observer.report()
        let remote = try #require(report.remotes.first { $0.remote.address == address })
        #expect(remote.remote.port == nil)
        #expect(remote.target == "x")
        #expect(remote.outcomes == [.refused: 1])
        #expect(fixture.statistics.targets["x"]?.connects == [.refused: 1])
    }

    @Test("A connect without an answer is stalled within two seconds, and has no answer at its end")
    func noAnswer() async throws {
        let fixture = try await ObserverFixture()
        try ThreeHosts.filter(
            fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; tcp dport 81 drop; }; }")
        let program = try fixture.start(
            """
            try:
                connect(81, limit=5)
            except TimeoutError:
                pass
            """)
        let isStalled = await eventually { fixture.statistics.traffic[.outgoing]?.stalled[.connecting] == 1 }
        #expect(isStalled)
        let stall = fixture.events.compactMap { event in
            if case .stalled(let stall) = event { stall } else { nil }
        }.first
        #expect(stall?.kind == .connecting)
        #expect(stall?.remote.port == 81)
        #expect(await program.finish().status == 0)
        let isCounted = await eventually {
            fixture.statistics.connects[.noAnswer] == 1
                && fixture.statistics.traffic[.outgoing]?.stalled[.connecting] == nil
        }
        #expect(isCounted, "\(fixture.statistics)")
        #expect(fixture.statistics.unexplained[.connects] ?? 0 == 0)
    }

    @Test("Connects that lost a race are abandoned, and nobody's failure")
    func abandoned() async throws {
        let fixture = try await ObserverFixture()
        try ThreeHosts.filter(
            fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; tcp dport 81 drop; }; }")
        try await fixture.run(
            """
            for _ in range(50):
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex((far, 81))
                time.sleep(0.01)
                connection.close()
            """)
        let isCounted = await eventually { fixture.statistics.connects[.abandoned] == 50 }
        #expect(isCounted, "\(fixture.statistics.connects)")
        #expect(fixture.statistics.failures.isEmpty)
        #expect(!fixture.events.contains { if case .failed = $0 { true } else { false } })
    }

    @Test("A connect to a neighbour that does not exist was never sent")
    func notSent() async throws {
        let fixture = try await ObserverFixture()
        try await fixture.run(
            """
            try:
                connect(80, host="10.0.0.77", limit=8)
            except OSError:
                pass
            """)
        let isCounted = await eventually { fixture.statistics.connects[.notSent] == 1 }
        #expect(isCounted, "\(fixture.statistics.connects)")
    }

    @Test("A reset is told when the program closes its socket, which is when the kernel tells it")
    func reset() async throws {
        let fixture = try await ObserverFixture()
        try await fixture.run(
            """
            connection = connect(9002)
            connection.sendall(b"x")
            time.sleep(1)
            connection.close()
            """)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends[.reset] == 1 }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        #expect(fixture.statistics.connects[.established] == 1)
        let isAttributed = await eventually { fixture.statistics.failures == [.init(.reset, .theirs): 1] }
        #expect(isAttributed, "\(fixture.statistics.failures)")
    }

    @Test("A connection that its program resets keeps its port and its bytes, because a list has shown it")
    func aborted() async throws {
        var configuration = ConnectionsConfiguration()
        configuration.establishedInterval = .seconds(1)
        let fixture = try await ObserverFixture(configuration)
        let program = try fixture.start(
            """
            connection = connect(9001)
            connection.sendall(b"y" * 5000)
            connection.recv(100)
            sys.stdin.close()
            time.sleep(3)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            """)
        #expect(await program.finish().status == 0)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends[.aborted] == 1 }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        #expect(fixture.statistics.traffic[.outgoing]?.sentBytes == 5000)
        let report = await fixture.observer.report()
        #expect(report.remotes.map(\.remote.port) == [9001])
    }

    @Test("Connections that end in order are closed, whatever their direction and family, and have a round trip")
    func closed() async throws {
        let fixture = try await ObserverFixture()
        try await fixture.run(
            """
            for host in (far, "\(ThreeHosts.farAddress.ipv6)", "::ffff:" + far):
                for _ in range(5):
                    connection = connect(9000, host=host)
                    connection.sendall(b"hello")
                    while connection.recv(4096):
                        pass
                    connection.close()
            """)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends[.closed] == 15 }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        #expect(fixture.statistics.connects[.established] == 15)
        #expect(fixture.statistics.traffic[.outgoing]?.sentBytes == 75)
        let report = await fixture.observer.report()
        #expect(report.remotes.map { $0.outcomes[.closed] ?? 0 }.sorted() == [5, 10])
        #expect(fixture.statistics.roundTrips.values.reduce(0) { $0 + $1.counts.reduce(0, +) } == 15)
    }

    @Test("A path that is cut under load stalls connections, and they recover when it heals")
    func cut() async throws {
        let fixture = try await ObserverFixture()
        let program = try fixture.start(
            """
            connection = connect(9001, limit=60)
            while True:
                connection.sendall(b"z")
                connection.recv(100)
                time.sleep(0.05)
            """)
        defer { program.signal(SIGKILL) }
        let isSeen = await eventually { fixture.statistics.traffic[.outgoing]?.connections[.established] == 1 }
        #expect(isSeen)
        try ThreeHosts.filter(
            fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; drop; }; }")
        let isStalled = await eventually { fixture.statistics.traffic[.outgoing]?.stalled[.unanswered] == 1 }
        #expect(isStalled)
        try fixture.hosts.gateway.run(["nft", "delete", "table", "inet", "t"])
        let isRecovered = await eventually {
            fixture.events.contains { if case .recovered = $0 { true } else { false } }
        }
        #expect(isRecovered, "\(fixture.events)")
        #expect(fixture.statistics.traffic[.outgoing]?.ends.isEmpty ?? false)
    }

    @Test("This program's own connections do not count, while those of others beside them do")
    func own() async throws {
        let fixture = try await ObserverFixture()
        let far = try #require(IPAddress(ThreeHosts.farAddress.ipv4))
        for _ in 0..<20 {
            try fixture.hosts.here.inside { Self.connect(to: far, port: 9000, noting: fixture.own) }
        }
        try await fixture.run(
            """
            connection = connect(9000)
            connection.sendall(b"x")
            while connection.recv(4096):
                pass
            connection.close()
            """)
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends[.closed] == 1 }
        #expect(isCounted, "\(fixture.statistics)")
        #expect(fixture.statistics.connects.filter { $0.value > 0 } == [.established: 1])
        // Messages about all of them had come by then.
        #expect(fixture.statistics.messages[.ipv4] == 21)
        #expect(await fixture.observer.report().remotes.map(\.outcomes) == [[.closed: 1]])
    }

    private static func connect(to address: IPAddress, port: UInt16, noting own: OwnSockets) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        own.insert(tg_socket_cookie(descriptor))
        var remote = sockaddr_in()
        remote.sin_family = sa_family_t(AF_INET)
        remote.sin_port = port.bigEndian
        remote.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.bits.low).bigEndian
        _ = withUnsafePointer(to: &remote) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        _ = write(descriptor, "x", 1)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while read(descriptor, &buffer, buffer.count) > 0 {}
        close(descriptor)
    }

    @Test("Messages that were read and those that were lost add up, and no more is unexplained than was lost")
    func losses() async throws {
        var configuration = ConnectionsConfiguration()
        (configuration.receiveBufferBytes, configuration.establishedInterval) = (65_536, .seconds(1))
        let fixture = try await ObserverFixture(configuration)
        // A burst without a pause for the reader: the connects fail at once.
        try await fixture.run(
            """
            import multiprocessing
            def burst(number):
                for _ in range(1000):
                    connection = socket.socket()
                    connection.setblocking(False)
                    connection.connect_ex((far, 9000))
                    connection.close()
            with multiprocessing.Pool(2) as pool:
                pool.map(burst, range(2))
            """)
        let total = { (fixture.statistics.messages[.ipv4] ?? 0) + fixture.statistics.dropped }
        let isComplete = await eventually { total() == 2000 }
        #expect(isComplete, "\(total())")
        #expect(fixture.statistics.unexplained[.connects] ?? 0 <= fixture.statistics.dropped)
    }

    @Test("Connections that peers open count, but not those to a port at which this program listens")
    func incoming() async throws {
        let fixture = try await ObserverFixture()
        let listener = try NetworkNamespaceListener(port: 7000, in: fixture.hosts.here)
        let program = try fixture.start(
            """
            listener = socket.create_server(("", 8000))
            print("listening")
            connection = listener.accept()[0]
            connection.recv(1)
            connection.close()
            time.sleep(60)
            """)
        defer { program.signal(SIGKILL) }
        let isListening = await eventually { program.outputSoFar.contains("listening") }
        try #require(isListening)
        // So many lists of listeners have been made since.
        let lists = { fixture.statistics.dumps[.listeners]?.counts.reduce(0, +) ?? 0 }
        let before = lists()
        let isListed = await eventually { lists() >= before + 2 }
        #expect(isListed)
        try await Program.expect([
            "ip", "netns", "exec", fixture.hosts.far.name, "python3", "-c",
            """
            import socket
            for port in (7000, 8000):
                connection = socket.create_connection(("10.0.0.2", port), timeout=10)
                connection.sendall(b"x")
                connection.close()
            """,
        ])
        let isCounted = await eventually { fixture.statistics.traffic[.incoming]?.ends.values.reduce(0, +) == 1 }
        #expect(isCounted, "\(fixture.statistics.traffic)")
        #expect(fixture.statistics.accepts == 1)
        #expect(await fixture.observer.report().remotes.map(\.remote.port) == [8000])
        withExtendedLifetime(listener) {}
    }
}
