import Foundation
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// Mine or theirs, from the traffic of other programs: several remotes behind one gateway.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverGroupTests {
    private static let remotes = ["198.51.100.2", "198.51.100.3", "198.51.100.4"]

    // Programs that ask every remote again and again.
    private static let load = """
        import threading
        def ask(host):
            connection = connect(9001, host=host, limit=120)
            while True:
                connection.sendall(b"z")
                connection.recv(100)
                time.sleep(0.05)
        for host in ("198.51.100.2", "198.51.100.3", "198.51.100.4"):
            threading.Thread(target=ask, args=(host,)).start()
        """

    private func loaded(routes: Latch? = nil) async throws -> (fixture: ObserverFixture, program: Program) {
        let fixture = try await ObserverFixture(routes: routes)
        for address in Self.remotes.dropFirst() { try fixture.hosts.far.ip("addr add \(address)/24 dev s0") }
        let program = try fixture.start(Self.load)
        let isSeen = await eventually { fixture.statistics.traffic[.outgoing]?.connections[.established] == 3 }
        try #require(isSeen, "\(program.errorsSoFar)")
        return (fixture, program)
    }

    private static func stalls(_ fixture: ObserverFixture) -> [ConnectionEvent.Stall] {
        fixture.events.compactMap { if case .stalled(let stall) = $0 { stall } else { nil } }
    }

    @Test("One of three remotes that goes silent is its own failure, and the kernel's next try is reported")
    func oneOfThree() async throws {
        let (fixture, program) = try await self.loaded()
        defer { program.signal(SIGKILL) }
        try ThreeHosts.filter(
            fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; ip saddr 198.51.100.3 drop; }; }")
        let isReported = await eventually { !Self.stalls(fixture).isEmpty }
        try #require(isReported)
        let stall = try #require(Self.stalls(fixture).first)
        #expect(stall.remote.address == IPAddress("198.51.100.3"))
        #expect(stall.party == .theirs)
        #expect(stall.kind == .unanswered)
        let nextTry = try #require(stall.nextTry)
        #expect(nextTry > .zero && nextTry < .seconds(10), "\(nextTry)")
        try fixture.hosts.gateway.run(["nft", "delete", "table", "inet", "t"])
        let isRecovered = await eventually { fixture.events.contains(.recovered(stall.remote)) }
        #expect(isRecovered)
        #expect(!fixture.events.contains { if case .groupSilent = $0 { true } else { false } })
        #expect(fixture.statistics.failures.isEmpty)
    }

    @Test("All remotes behind a gateway that go silent are one event, and not their failure")
    func all() async throws {
        let (fixture, program) = try await self.loaded()
        defer { program.signal(SIGKILL) }
        try ThreeHosts.filter(
            fixture.hosts.gateway, "table inet t { chain f { type filter hook forward priority 0; drop; }; }")
        let isStalled = await eventually { fixture.statistics.traffic[.outgoing]?.stalled[.unanswered] == 3 }
        #expect(isStalled)
        let silences = { fixture.events.filter { if case .groupSilent = $0 { true } else { false } } }
        let isReported = await eventually { !silences().isEmpty }
        #expect(isReported)
        let remotes = await fixture.observer.report().remotes
        let parties = Set(remotes.filter { $0.stalledCount > 0 }.compactMap(\.party))
        #expect(parties == [.upstream], "\(remotes)")
        try fixture.hosts.gateway.run(["nft", "delete", "table", "inet", "t"])
        let isRecovered = await eventually {
            fixture.statistics.traffic[.outgoing]?.stalled.values.reduce(0, +) ?? 0 == 0
        }
        #expect(isRecovered)
        #expect(silences().count == 1, "\(fixture.events)")
        guard case .groupSilent(let gateway, let interface, _)? = silences().first else {
            Issue.record("no event")
            return
        }
        #expect(gateway == IPAddress(ThreeHosts.gatewayAddress.ipv4))
        #expect(interface == "v0")
    }

    @Test("A router that lets old connections go on and opens no new ones is named, not the servers")
    func opensNone() async throws {
        let fixture = try await ObserverFixture()
        try fixture.hosts.far.ip("addr add 198.51.100.3/24 dev s0")
        try fixture.hosts.far.ip("addr add 203.0.113.3/32 dev s0")
        try fixture.hosts.gateway.ip("route add 203.0.113.0/24 via 198.51.100.2")
        func forward(_ rule: String) throws {
            try ThreeHosts.filter(
                fixture.hosts.gateway,
                "table inet on_\(rule) { chain f { type filter hook forward priority 0; ct state new \(rule); }; }")
        }
        // The router follows connections from the start on; else old ones would be new to it.
        try forward("accept")
        let program = try fixture.start(
            """
            import threading
            def ask(connection):
                connection.sendall(b"z")
                connection.recv(100)
                time.sleep(0.05)
            def old():
                connection = connect(9001, host="198.51.100.2", limit=120)
                while True: ask(connection)
            def new(host):
                while True: ask(connect(9001, host=host, limit=120))
            threading.Thread(target=old).start()
            for host in ("198.51.100.3", "203.0.113.3"): threading.Thread(target=new, args=(host,)).start()
            """)
        defer { program.signal(SIGKILL) }
        let address = try #require(IPAddress("203.0.113.3"))
        let isSeen = await eventually {
            await fixture.observer.report().remotes.contains { $0.remote.address == address && $0.answered != nil }
        }
        try #require(isSeen, "\(program.errorsSoFar)")
        try forward("drop")
        let isNamed = await eventually {
            let party = await fixture.observer.report().remotes.first { $0.remote.address == address }?.party
            return party == .gateway
        }
        #expect(isNamed)
    }

    @Test("Whose failure it is is known with the route, not with the next list")
    func party() async throws {
        let routes = Latch()
        let (fixture, program) = try await self.loaded(routes: routes)
        defer { program.signal(SIGKILL) }
        try ThreeHosts.filter(
            fixture.hosts.gateway, "table inet t { chain f { type filter hook forward priority 0; drop; }; }")
        let isStalled = await eventually { fixture.statistics.traffic[.outgoing]?.stalled[.unanswered] == 3 }
        #expect(isStalled)
        #expect(!fixture.events.contains { if case .stalled = $0 { true } else { false } })
        routes.open()
        let isReported = await eventually {
            fixture.events.contains { if case .groupSilent = $0 { true } else { false } }
        }
        #expect(isReported)
        let parties = await fixture.observer.report().remotes.filter { $0.stalledCount > 0 }.map(\.party)
        #expect(parties == [.upstream, .upstream, .upstream])
    }

    @Test("A program that does not read closes its window, which is its own failure")
    func window() async throws {
        let fixture = try await ObserverFixture()
        let program = try fixture.start(
            """
            connection = connect(9003, limit=120)
            connection.settimeout(None)
            while True:
                connection.sendall(b"w" * 65536)
            """)
        defer { program.signal(SIGKILL) }
        let isStalled = await eventually { fixture.statistics.traffic[.outgoing]?.stalled[.window] == 1 }
        #expect(isStalled)
        let isReported = await eventually { !Self.stalls(fixture).isEmpty }
        #expect(isReported)
        #expect(Self.stalls(fixture).first?.kind == .window)
        #expect(Self.stalls(fixture).first?.party == .theirs)
    }

    @Test("Idle connections over a dead path show nothing, and nothing is claimed of them")
    func idle() async throws {
        var configuration = ConnectionsConfiguration()
        configuration.establishedInterval = .seconds(1)
        let fixture = try await ObserverFixture(configuration)
        let program = try fixture.start(
            """
            connection = connect(9001)
            print("connected")
            time.sleep(60)
            """)
        defer { program.signal(SIGKILL) }
        let isSeen = await eventually { fixture.statistics.traffic[.outgoing]?.connections[.established] == 1 }
        #expect(isSeen)
        try ThreeHosts.filter(
            fixture.hosts.gateway, "table inet t { chain f { type filter hook forward priority 0; drop; }; }")
        let answered = fixture.statistics.lastAnswers[.public]
        // So many lists have looked at it since.
        let lists = fixture.statistics.dumps[.established]?.counts.reduce(0, +) ?? 0
        let isLookedAt = await eventually {
            fixture.statistics.dumps[.established]?.counts.reduce(0, +) ?? 0 >= lists + 6
        }
        #expect(isLookedAt)
        #expect(fixture.statistics.traffic[.outgoing]?.stalls.isEmpty ?? false)
        #expect(fixture.statistics.failures.isEmpty)
        let now = try #require(fixture.statistics.lastAnswers[.public])
        let before = try #require(answered)
        #expect(abs(now.seconds - before.seconds) < 0.1, "\(now) \(before)")
    }
}
