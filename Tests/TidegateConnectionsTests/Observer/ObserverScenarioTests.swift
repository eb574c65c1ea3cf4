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
        let report = await fixture.observer.report()
        #expect(report.remotes.map(\.failures) == [[.refused: [.theirs: 1]]])
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
        // The event says whose failure it is, for which the route is looked up first.
        let stall = try #require(
            await eventualValue {
                fixture.events.compactMap { event in
                    if case .stalled(let stall) = event { stall } else { nil }
                }.first
            })
        #expect(stall.kind == .connecting)
        #expect(stall.remote.port == 81)
        #expect(await program.finish().status == 0)
        let isCounted = await eventually {
            fixture.statistics.connects[.noAnswer] == 1
                && fixture.statistics.traffic[.outgoing]?.stalled[.connecting] == nil
        }
        #expect(isCounted, "\(fixture.statistics)")
        #expect(fixture.statistics.unexplained[.connects] ?? 0 == 0)
        // That the program gave up is no recovery.
        #expect(!fixture.events.contains { if case .recovered = $0 { true } else { false } })
    }

    @Test("A program that tries again and again without an answer hangs once, until it is answered")
    func triesAgain() async throws {
        let fixture = try await ObserverFixture()
        let rules = "table inet t { chain f { type filter hook forward priority 0; tcp dport 9001 drop; }; }"
        try ThreeHosts.filter(fixture.hosts.gateway, rules)
        let program = try fixture.start(
            """
            while True:
                try:
                    connection = connect(9001, limit=2.5)
                    connection.sendall(b"x")
                    connection.recv(10)
                    time.sleep(600)
                except TimeoutError:
                    pass
            """)
        defer { program.signal(SIGKILL) }
        let isTriedAgain = await eventually { fixture.statistics.traffic[.outgoing]?.stalls[.connecting] ?? 0 >= 3 }
        #expect(isTriedAgain)
        try fixture.hosts.gateway.run(["nft", "delete", "table", "inet", "t"])
        let remote = Remote(try #require(IPAddress(ThreeHosts.farAddress.ipv4)), port: 9001, .outgoing)
        let isRecovered = await eventually { fixture.events.contains(.recovered(remote)) }
        #expect(isRecovered, "\(fixture.events)")
        let stalls = fixture.events.filter { if case .stalled = $0 { true } else { false } }
        #expect(stalls.count == 1 && fixture.events.filter { $0 == .recovered(remote) }.count == 1, "\(fixture.events)")
    }

    @Test("Connects that lost a race are abandoned, and no party's failure")
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

    @Test("A reset is reported when the program closes its socket, which is when the kernel reports it")
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
            import signal
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            connection = connect(9001)
            connection.sendall(b"y" * 5000)
            connection.recv(100)
            signal.sigwait([signal.SIGUSR1])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            """)
        let isListed = await eventually { fixture.statistics.traffic[.outgoing]?.sentBytes == 5000 }
        #expect(isListed, "\(fixture.statistics.traffic)")
        program.signal(SIGUSR1)
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

    @Test("A path that is cut in one direction stalls connections, although the remote repeats what it sent")
    func cutOneWay() async throws {
        let fixture = try await ObserverFixture()
        let program = try fixture.start(
            """
            connection = connect(9001, limit=60)
            while True:
                connection.sendall(b"z")
                connection.recv(100)
                time.sleep(0.01)
            """)
        defer { program.signal(SIGKILL) }
        let isSeen = await eventually { fixture.statistics.traffic[.outgoing]?.connections[.established] == 1 }
        #expect(isSeen)
        try ThreeHosts.filter(
            fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; ip daddr \(ThreeHosts.farAddress.ipv4) drop; }; }"
        )
        let isStalled = await eventually { fixture.statistics.traffic[.outgoing]?.stalled[.unanswered] == 1 }
        #expect(isStalled)
        try fixture.hosts.gateway.run(["nft", "delete", "table", "inet", "t"])
        let isRecovered = await eventually {
            fixture.events.contains { if case .recovered = $0 { true } else { false } }
        }
        #expect(isRecovered, "\(fixture.events)")
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
}
