import Testing
import TidegateCore
import TidegateSessionTestKit

/// Whose failure it was, on real wires: this host, a gateway, and a far host behind it.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct AttributionScenarioTests {
    private let fixture: AttributionFixture

    init() throws { self.fixture = try AttributionFixture() }

    @Test("A closed port is theirs", arguments: AddressFamily.allCases)
    func closedPort(_ family: AddressFamily) async throws {
        let blame = try await self.fixture.blame(for: self.fixture.far(family))
        #expect(blame.party == .theirs)
        #expect(blame.rung == .tcp)
        #expect(blame.evidence == ["\(self.fixture.far(family)) refused the connection"])
    }

    @Test("A dead host behind the gateway is theirs, and the gateway says so", arguments: AddressFamily.allCases)
    func deadHost(_ family: AddressFamily) async throws {
        let host = family == .ipv4 ? "198.51.100.99" : "2001:db8:2::99"
        let blame = try await self.fixture.blame(for: host)
        #expect(blame.party == .theirs)
        #expect(blame.rung == .tcp)
        let number = family == .ipv4 ? "ICMP 3/1" : "ICMPv6 1/3"
        #expect(
            blame.evidence == [
                "\(self.fixture.gateway(family)) (the gateway) says: host unreachable at \(host) (\(number))"
            ])
    }

    @Test("A gateway without a route is upstream's", arguments: AddressFamily.allCases)
    func noRoute(_ family: AddressFamily) async throws {
        let host = family == .ipv4 ? "203.0.113.1" : "2001:db8:f::1"
        let blame = try await self.fixture.blame(for: host)
        #expect(blame.party == .upstream)
        let number = family == .ipv4 ? "ICMP 3/0" : "ICMPv6 1/0"
        #expect(
            blame.evidence == ["\(self.fixture.gateway(family)) (the gateway) says: no route to \(host) (\(number))"])
    }

    @Test("A gateway that forbids is to be asked", arguments: AddressFamily.allCases)
    func prohibited(_ family: AddressFamily) async throws {
        let rule = family == .ipv4 ? "route add prohibit 203.0.113.0/24" : "route add prohibit 2001:db8:f::/48"
        try self.fixture.hosts.gateway.ip(rule)
        let blame = try await self.fixture.blame(for: family == .ipv4 ? "203.0.113.1" : "2001:db8:f::1")
        #expect(blame.party == .gateway)
        #expect(blame.evidence.first?.contains("administratively prohibited") == true)
    }

    @Test("Silence has no known party while no other host on the path has answered", arguments: AddressFamily.allCases)
    func blackhole(_ family: AddressFamily) async throws {
        let lost = family == .ipv4 ? "203.0.113.1" : "2001:db8:f::1"
        try self.fixture.loseDocumentationNetworks()
        let alone = try await self.fixture.blame(for: lost, within: .seconds(2))
        #expect(alone.party == .unknown)
        // How many there were depends on the kernel's timers.
        #expect(alone.evidence.count == 1)
        #expect(alone.evidence.first?.hasSuffix("SYNs to \(lost) went unanswered") == true)
    }

    @Test("Silence is the path's if another host on it answers meanwhile, and not if it did before")
    func comparedSilence() async throws {
        let lost = "203.0.113.1"
        try self.fixture.loseDocumentationNetworks()
        let server = try self.fixture.serve { _ in .respond(404) }
        defer { server.stop() }
        let silent = try self.fixture.start("http://\(lost)/", within: .seconds(2))
        _ = try await self.fixture.blame(for: "198.51.100.2:\(server.port)")
        let compared = try await self.fixture.blame(of: silent)
        #expect(compared.party == .path)
        #expect(compared.rung == .tcp)
        #expect(compared.evidence.last == "1 other host on v0 via 10.0.0.1 answered in the last 30 s")
        #expect(try await self.fixture.blame(for: lost, within: .seconds(1)).party == .unknown)
    }

    @Test("Where every host is silent, it is upstream's")
    func allSilent() async throws {
        try ThreeHosts.filter(
            self.fixture.hosts.gateway,
            "table inet t { chain f { type filter hook forward priority 0; policy drop; }; }")
        _ = try await self.fixture.blame(for: "198.51.100.7", within: .seconds(1))
        let blame = try await self.fixture.blame(for: "198.51.100.2", within: .seconds(1))
        #expect(blame.party == .upstream)
        #expect(blame.evidence.last == "nor did 1 other host on v0 via 10.0.0.1 in the last 30 s")
    }

    @Test("A server that breaks off the handshake, or shakes no hands, is theirs at TLS")
    func handshake() async throws {
        let listener = try NetworkNamespaceListener(port: 443, in: self.fixture.hosts.far)
        let silent = try await self.fixture.blame(for: "198.51.100.2", scheme: "https", within: .seconds(5))
        #expect(silent.party == .theirs)
        #expect(silent.rung == .tls)
        try ThreeHosts.filter(
            self.fixture.hosts.far,
            """
            table inet t { chain i { type filter hook input priority 0;
              tcp dport 443 meta length > 150 reject with tcp reset; }; }
            """)
        let reset = try await self.fixture.blame(for: "198.51.100.2", scheme: "https")
        #expect(reset.party == .theirs)
        #expect(reset.rung == .tls)
        withExtendedLifetime(listener) {}
    }

    @Test("A server that takes the request and says nothing, or 503, is theirs at HTTP")
    func http() async throws {
        let server = try self.fixture.serve { request in
            request.path == "/busy" ? .respond(503, text: "later") : LiveServerAnswer([.hang])
        }
        defer { server.stop() }
        let silent = try await self.fixture.blame(for: "198.51.100.2:\(server.port)", within: .seconds(4))
        #expect(silent.party == .theirs)
        #expect(silent.rung == .http)
        #expect(silent.evidence == ["198.51.100.2 took the request and did not answer"])
        let busy = try await self.fixture.blame(for: "198.51.100.2:\(server.port)/busy")
        #expect(busy.party == .theirs)
        #expect(busy.rung == .http)
        #expect(busy.evidence == ["the server answered 503"])
    }

    @Test("A gateway that answers no ARP is the gateway's", arguments: AddressFamily.allCases)
    func deadGateway(_ family: AddressFamily) async throws {
        let dead = family == .ipv4 ? "10.0.0.99" : "2001:db8::99"
        try self.fixture.hosts.here.ip("\(family == .ipv4 ? "-4" : "-6") route replace default via \(dead)")
        self.fixture.useGateway(dead)
        let blame = try await self.fixture.blame(for: self.fixture.far(family))
        #expect(blame.party == .gateway)
        #expect(blame.rung == .gateway)
        #expect(blame.evidence.first == "the gateway \(dead) does not answer on v0")
    }

    @Test("A filter of this host's own is ours", arguments: AddressFamily.allCases)
    func ownFilter(_ family: AddressFamily) async throws {
        try ThreeHosts.filter(
            self.fixture.hosts.here,
            """
            table inet t { chain o { type filter hook output priority 0;
              tcp dport 80 reject with icmpx type admin-prohibited; }; }
            """)
        let blame = try await self.fixture.blame(for: self.fixture.far(family))
        #expect(blame.party == .mine)
        #expect(blame.evidence.first == "a filter of this host refuses it")
    }

    @Test("A route that the kernel has lost before anybody said so is ours")
    func ownRoute() async throws {
        try self.fixture.hosts.here.ip("route del default")
        let blame = try await self.fixture.blame(for: "198.51.100.2")
        #expect(blame.party == .mine)
        #expect(blame.rung == .route)
        #expect(blame.evidence == ["this host has no route to 198.51.100.2"])
    }

    @Test("A carrier that is lost under a request explains it, whatever the wire says")
    func carrier() async throws {
        let server = try self.fixture.serve { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let task = try self.fixture.start("http://198.51.100.2:\(server.port)/", within: .seconds(30))
        #expect(await eventually { server.requests.count == 1 })
        self.fixture.paths.scripted.say(ScriptedPathSource.lost(.noCarrier))
        self.fixture.paths.scripted.hold(try #require(IPAddress("10.0.0.2")), false)
        let blame = try await self.fixture.blame(of: task)
        #expect(blame.party == .mine)
        #expect(blame.rung == .carrier)
    }
}
